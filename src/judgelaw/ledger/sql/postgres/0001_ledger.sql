-- The ledger of one run, in a schema of its own. The rules are those of the SQLite ledger; on top
-- come leases, since any number of sessions work here at once. The database refuses illegal
-- states, so that no version of the code, no script and no hand edit can put one there unnoticed.

CREATE TABLE meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

-- What a worker on another machine needs to ask a call: the frozen record, items and prompts.
-- Hidden labels of controls are never here.
CREATE TABLE inputs (
    name    text PRIMARY KEY CHECK (name NOT LIKE 'sealed/%'),
    content bytea NOT NULL
);

-- One row for each process that works here. While its heartbeat is younger than its lease, what it
-- has reserved is its own. `groups` counts its commits: the same group is never written twice.
-- `attempts` is how often it tries a call. `round` is shared by sessions that overlap: a call that
-- was tried so often in one round waits for the next.
CREATE TABLE sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pid          integer NOT NULL,
    host         text NOT NULL,
    version      text NOT NULL,
    round        integer NOT NULL CHECK (round >= 1),
    attempts     integer NOT NULL CHECK (attempts >= 1),
    lease_s      double precision NOT NULL CHECK (lease_s > 0),
    groups       bigint NOT NULL DEFAULT 0 CHECK (groups >= 0),
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at     timestamptz CHECK (ended_at >= started_at),
    lost         boolean NOT NULL DEFAULT false,
    CHECK (NOT lost OR ended_at IS NOT NULL)
);

CREATE INDEX sessions_at_work ON sessions (id) WHERE ended_at IS NULL;

-- A session that has ended is over: its commits find no row, whenever they arrive.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER sessions_end_once BEFORE UPDATE ON sessions FOR EACH ROW
WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_change('a session ends once');

-- Paces and prices are those of the study in force; next_request and next_token are the shared
-- schedule, in seconds of this server's clock.
CREATE TABLE judges (
    name                  text PRIMARY KEY,
    model                 text,
    judge_sha256          bytea NOT NULL CHECK (length(judge_sha256) = 32),
    request_s             double precision CHECK (request_s > 0),
    token_s               double precision CHECK (token_s > 0),
    next_request          double precision NOT NULL DEFAULT 0,
    next_token            double precision NOT NULL DEFAULT 0,
    input_per_mtok        double precision NOT NULL DEFAULT 0,
    output_per_mtok       double precision NOT NULL DEFAULT 0,
    cached_input_per_mtok double precision NOT NULL DEFAULT 0
);

CREATE TABLE calls (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    call_id        text NOT NULL UNIQUE CHECK (length(call_id) = 32),
    judge          text NOT NULL REFERENCES judges (name),
    layer          text NOT NULL,
    item           text NOT NULL,
    stratum        text,
    prompt         text NOT NULL,
    "order"        text NOT NULL,
    repeat         integer NOT NULL CHECK (repeat >= 0),
    seed           bigint,
    position       bigint NOT NULL CHECK (position >= 0),
    request_sha256 bytea NOT NULL CHECK (length(request_sha256) = 32),
    payload_sha256 bytea NOT NULL CHECK (length(payload_sha256) = 32),
    gold           text
);

-- Two calls of a judge never share a place in the schedule.
CREATE UNIQUE INDEX calls_schedule ON calls (judge, position);

CREATE TRIGGER calls_are_frozen BEFORE UPDATE ON calls FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('a frozen call is never changed');

CREATE TRIGGER calls_are_kept BEFORE DELETE OR TRUNCATE ON calls FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('a frozen call is never deleted');

-- The states are those of the SQLite ledger. `sent_at` is durable before the wire is touched: an
-- attempt that a lost session leaves without one was never sent.
-- tokens and usd are set aside from the budget while the attempt is under way; exact numbers, so
-- that setting aside and giving back a million times leaves nothing behind.
CREATE TABLE attempts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    call        bigint NOT NULL REFERENCES calls (id),
    number      integer NOT NULL CHECK (number >= 1),
    session     bigint NOT NULL REFERENCES sessions (id),
    state       text NOT NULL DEFAULT 'started' CHECK (
        state IN ('started', 'completed', 'failed', 'orphaned', 'refused', 'unsent')
    ),
    reserved_at double precision NOT NULL,
    sent_at     double precision,
    ended_at    double precision,
    status      integer,
    kind        text,
    detail      text,
    at_risk     boolean NOT NULL DEFAULT false,
    tokens      numeric CHECK (tokens >= 0),
    usd         numeric CHECK (usd >= 0),
    UNIQUE (call, number),
    CHECK ((state = 'started') = (ended_at IS NULL)),
    CHECK ((state IN ('failed', 'refused')) = (kind IS NOT NULL)),
    CHECK (state NOT IN ('completed', 'failed', 'refused') OR sent_at IS NOT NULL),
    CHECK (state <> 'unsent' OR sent_at IS NULL)
);

CREATE UNIQUE INDEX attempts_one_open ON attempts (call) WHERE state = 'started';
CREATE INDEX attempts_under_way ON attempts (session) WHERE state = 'started';

-- At most one a call, since the call is the key.
CREATE TABLE completions (
    call             bigint PRIMARY KEY REFERENCES calls (id),
    attempt          bigint NOT NULL UNIQUE REFERENCES attempts (id),
    sent_at          double precision NOT NULL,
    ended_at         double precision NOT NULL,
    status           integer NOT NULL,
    body             bytea NOT NULL,
    text             text,
    finish_reason    text,
    refusal          text,
    content_filtered boolean NOT NULL,
    input_tokens     bigint CHECK (input_tokens >= 0),
    output_tokens    bigint CHECK (output_tokens >= 0),
    cached_tokens    bigint CHECK (cached_tokens >= 0),
    model            text,
    fingerprint      text,
    response_id      text,
    echoed_seed      bigint,
    replayed         boolean NOT NULL DEFAULT false
);

CREATE TABLE verdicts (
    call      bigint NOT NULL REFERENCES completions (call),
    parser    text NOT NULL,
    verdict   text NOT NULL CHECK (verdict <> ''),
    displayed text,
    reason    text NOT NULL,
    PRIMARY KEY (call, parser)
);

-- The calls that have no completion, and the session that holds each: while an attempt is under
-- way, and between attempts while it has tries left. Narrow, so that leasing stays cheap however
-- many calls there are; kept by the triggers below, and let go when a session ends.
CREATE TABLE open_calls (
    call     bigint PRIMARY KEY REFERENCES calls (id),
    judge    text NOT NULL,
    position bigint NOT NULL,
    session  bigint REFERENCES sessions (id),
    attempt  bigint UNIQUE REFERENCES attempts (id),
    attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    round    integer NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    CHECK (attempt IS NULL OR session IS NOT NULL)
);

CREATE INDEX open_calls_free ON open_calls (judge, position) WHERE session IS NULL;
CREATE INDEX open_calls_held ON open_calls (session) WHERE session IS NOT NULL;

-- The shared budget: limits of the study in force, and what has been spent and set aside. Only
-- admission reads it. Every total is counted from rows, and so is this one whenever a session
-- begins. No row: no budget.
CREATE TABLE purse (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    most_calls   bigint,
    most_tokens  double precision,
    most_usd     double precision,
    calls        bigint NOT NULL DEFAULT 0,
    tokens       numeric NOT NULL DEFAULT 0,
    usd          numeric NOT NULL DEFAULT 0,
    under_way    bigint NOT NULL DEFAULT 0 CHECK (under_way >= 0),
    held_tokens  numeric NOT NULL DEFAULT 0,
    held_usd     numeric NOT NULL DEFAULT 0
);

CREATE FUNCTION calls_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO open_calls (call, judge, position) SELECT id, judge, position FROM added;
    RETURN NULL;
END
$$;

CREATE TRIGGER calls_are_open AFTER INSERT ON calls REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION calls_open();

CREATE FUNCTION check_new_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM completions WHERE call = NEW.call) THEN
        RAISE EXCEPTION 'a completed call is never requested again'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER attempts_for_open_calls_only BEFORE INSERT ON attempts FOR EACH ROW
EXECUTE FUNCTION check_new_attempt();

CREATE FUNCTION hold_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE open_calls AS o
    SET session = a.session, attempt = a.id, attempts = a.number
    FROM added AS a
    WHERE o.call = a.call AND a.state = 'started';
    RETURN NULL;
END
$$;

CREATE TRIGGER attempts_hold_their_call AFTER INSERT ON attempts REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION hold_call();

CREATE FUNCTION check_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'started' OR NEW.call <> OLD.call OR NEW.number <> OLD.number THEN
        RAISE EXCEPTION 'an attempt ends once and keeps its place'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state = 'completed' AND NOT EXISTS (
        SELECT 1 FROM completions WHERE call = NEW.call AND attempt = NEW.id
    ) THEN
        RAISE EXCEPTION 'an attempt completes only with its completion'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER attempts_end_once BEFORE UPDATE ON attempts FOR EACH ROW
EXECUTE FUNCTION check_attempt();

CREATE TRIGGER attempts_are_kept BEFORE DELETE OR TRUNCATE ON attempts FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('an attempt is never deleted');

-- An attempt that ends lets go of its call and of what was set aside for it; one that may have
-- been answered all the same is taken as spent.
CREATE FUNCTION free_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE open_calls AS o
    SET
        attempt = NULL,
        session = CASE WHEN e.failures < e.most THEN o.session END,
        round = CASE WHEN e.failures IS NULL THEN o.round ELSE e.round END,
        failures = coalesce(e.failures, o.failures)
    FROM (
        SELECT
            a.id,
            s.round,
            s.attempts AS most,
            CASE
                WHEN a.state <> 'failed' THEN NULL
                WHEN p.round = s.round THEN p.failures + 1
                ELSE 1
            END AS failures
        FROM ended AS a
        JOIN sessions AS s ON s.id = a.session
        JOIN open_calls AS p ON p.attempt = a.id
        WHERE a.state <> 'started'
    ) AS e
    WHERE o.attempt = e.id;

    UPDATE purse
    SET
        under_way = under_way - e.n,
        held_tokens = held_tokens - e.tokens,
        held_usd = held_usd - e.usd,
        tokens = purse.tokens + e.lost_tokens,
        usd = purse.usd + e.lost_usd
    FROM (
        SELECT
            count(*) AS n,
            coalesce(sum(tokens), 0) AS tokens,
            coalesce(sum(usd), 0) AS usd,
            coalesce(sum(tokens) FILTER (WHERE at_risk), 0) AS lost_tokens,
            coalesce(sum(usd) FILTER (WHERE at_risk), 0) AS lost_usd
        FROM ended
        WHERE state <> 'started' AND tokens IS NOT NULL
    ) AS e
    WHERE e.n > 0;
    RETURN NULL;
END
$$;

CREATE TRIGGER attempts_free_their_call AFTER UPDATE ON attempts REFERENCING NEW TABLE AS ended
FOR EACH STATEMENT EXECUTE FUNCTION free_call();

CREATE FUNCTION check_completion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM attempts WHERE id = NEW.attempt AND call = NEW.call AND state = 'started'
    ) THEN
        RAISE EXCEPTION 'a completion belongs to an open attempt of its own call'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER completions_belong_to_an_open_attempt BEFORE INSERT ON completions FOR EACH ROW
EXECUTE FUNCTION check_completion();

-- Completion and state change cannot come apart: the second is a consequence of the first.
CREATE FUNCTION close_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM open_calls AS o USING added AS r WHERE o.call = r.call;

    UPDATE purse
    SET calls = purse.calls + e.n, tokens = purse.tokens + e.tokens, usd = purse.usd + e.usd
    FROM (
        SELECT
            count(*) AS n,
            coalesce(sum(r.input_tokens + r.output_tokens), 0) AS tokens,
            coalesce(sum(
                (r.input_tokens - coalesce(r.cached_tokens, 0)) * j.input_per_mtok
                + coalesce(r.cached_tokens, 0) * j.cached_input_per_mtok
                + r.output_tokens * j.output_per_mtok
            ), 0) / 1e6 AS usd
        FROM added AS r
        JOIN calls AS c ON c.id = r.call
        JOIN judges AS j ON j.name = c.judge
    ) AS e;

    UPDATE judges AS j
    SET next_token = j.next_token + j.token_s * e.beyond
    FROM (
        SELECT c.judge, sum(r.input_tokens + r.output_tokens - a.tokens) AS beyond
        FROM added AS r
        JOIN attempts AS a ON a.id = r.attempt
        JOIN calls AS c ON c.id = r.call
        GROUP BY c.judge
    ) AS e
    WHERE j.name = e.judge AND j.token_s IS NOT NULL AND e.beyond IS NOT NULL;

    UPDATE attempts AS a
    SET state = 'completed', sent_at = r.sent_at, ended_at = r.ended_at, status = r.status
    FROM added AS r
    WHERE a.id = r.attempt;
    RETURN NULL;
END
$$;

CREATE TRIGGER completions_close_their_attempt AFTER INSERT ON completions
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION close_call();

CREATE TRIGGER completions_are_frozen BEFORE UPDATE ON completions FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('a completion is never changed');

CREATE TRIGGER completions_are_kept BEFORE DELETE OR TRUNCATE ON completions FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('a completion is never deleted');

CREATE TRIGGER verdicts_are_frozen BEFORE UPDATE ON verdicts FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change(
    'a verdict is never changed; reparse adds one under another parser version'
);

-- What makes a completion suspicious is read off the rows, never stored beside them.
CREATE VIEW flags (call, kind, detail) AS
WITH replies AS (
    SELECT
        r.call,
        r.attempt,
        c.judge,
        j.model AS asked,
        r.model,
        c.seed,
        r.echoed_seed,
        r.replayed,
        r.response_id,
        r.fingerprint
    FROM completions AS r
    JOIN calls AS c ON c.id = r.call
    JOIN judges AS j ON j.name = c.judge
)
SELECT call, 'model', model FROM replies WHERE model <> asked
UNION ALL
SELECT call, 'seed', CAST(echoed_seed AS text) FROM replies WHERE echoed_seed <> seed
UNION ALL
SELECT call, 'replay', 'served from a cache' FROM replies WHERE replayed
UNION ALL
SELECT call, 'response_id', response_id FROM (
    SELECT
        call,
        response_id,
        row_number() OVER (PARTITION BY judge, response_id ORDER BY attempt) AS seen
    FROM replies
    WHERE response_id IS NOT NULL
) AS ids
WHERE seen > 1
UNION ALL
SELECT call, 'fingerprint', fingerprint FROM (
    SELECT
        call,
        fingerprint,
        first_value(fingerprint) OVER (PARTITION BY judge ORDER BY attempt) AS first
    FROM replies
    WHERE fingerprint IS NOT NULL
) AS prints
WHERE fingerprint <> first;
