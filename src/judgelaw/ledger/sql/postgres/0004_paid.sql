-- Replies that came and that no reader has taken yet, and fields that a reader could not take, as
-- in the SQLite ledger.
CREATE TABLE unread_replies (
    attempt  bigint PRIMARY KEY REFERENCES attempts (id),
    sent_at  double precision NOT NULL,
    ended_at double precision NOT NULL,
    status   integer NOT NULL,
    headers  text NOT NULL,
    body     bytea NOT NULL
);

CREATE FUNCTION check_unread_reply() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM attempts AS a
        WHERE a.id = NEW.attempt
            AND a.state IN ('started', 'orphaned')
            AND NOT EXISTS (SELECT 1 FROM completions AS r WHERE r.call = a.call)
    ) THEN
        RAISE EXCEPTION 'an unread reply belongs to an open attempt, or to an orphan of an open call'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER unread_replies_are_of_open_calls BEFORE INSERT ON unread_replies FOR EACH ROW
EXECUTE FUNCTION check_unread_reply();

CREATE TABLE unread_fields (
    call   bigint NOT NULL REFERENCES completions (call),
    field  text NOT NULL CHECK (field <> ''),
    reason text NOT NULL CHECK (reason <> ''),
    PRIMARY KEY (call, field)
);

CREATE TRIGGER unread_fields_are_frozen BEFORE UPDATE ON unread_fields FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('why a field is missing is never changed');

-- An orphan whose reply turns up after all is completed by it: whoever held the reply may come
-- back later than somebody gave it up.
CREATE OR REPLACE FUNCTION check_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state <> 'started' AND NOT (OLD.state = 'orphaned' AND NEW.state = 'completed'))
        OR NEW.call <> OLD.call OR NEW.number <> OLD.number
    THEN
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

CREATE OR REPLACE FUNCTION check_completion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM attempts
        WHERE id = NEW.attempt AND call = NEW.call AND state IN ('started', 'orphaned')
    ) THEN
        RAISE EXCEPTION 'a completion belongs to an open attempt of its own call, or to an orphan'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION close_call() RETURNS trigger LANGUAGE plpgsql AS $$
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
    SET
        state = 'completed', sent_at = r.sent_at, ended_at = r.ended_at, status = r.status,
        at_risk = false,
        detail = CASE WHEN a.state = 'orphaned' THEN 'its reply turned up late' ELSE a.detail END
    FROM added AS r
    WHERE a.id = r.attempt;
    RETURN NULL;
END
$$;

-- What may have been answered counts as paid: an attempt at risk is a call of the budget, and one
-- that was orphaned with its batch has used up a try of its call, as a failure does. What was set
-- aside is let go once, when an attempt ends; what an orphan was thought to have spent is given back
-- when its completion says what it did spend.
CREATE OR REPLACE FUNCTION free_call() RETURNS trigger LANGUAGE plpgsql AS $$
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
                WHEN a.state <> 'failed' AND NOT (a.state = 'orphaned' AND a.batch IS NOT NULL)
                    THEN NULL
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
        calls = purse.calls + e.lost,
        under_way = under_way - e.n,
        held_tokens = held_tokens - e.tokens,
        held_usd = held_usd - e.usd,
        tokens = purse.tokens + e.lost_tokens,
        usd = purse.usd + e.lost_usd
    FROM (
        SELECT
            count(*) FILTER (WHERE w.state = 'started') AS n,
            count(*) AS changed,
            coalesce(sum(a.at_risk::integer - w.at_risk::integer), 0) AS lost,
            coalesce(sum(a.tokens) FILTER (WHERE w.state = 'started'), 0) AS tokens,
            coalesce(sum(a.usd) FILTER (WHERE w.state = 'started'), 0) AS usd,
            coalesce(sum(a.tokens * (a.at_risk::integer - w.at_risk::integer)), 0) AS lost_tokens,
            coalesce(sum(a.usd * (a.at_risk::integer - w.at_risk::integer)), 0) AS lost_usd
        FROM ended AS a
        JOIN were AS w ON w.id = a.id
        WHERE a.state <> 'started' AND a.tokens IS NOT NULL
    ) AS e
    WHERE e.changed > 0;
    RETURN NULL;
END
$$;

DROP TRIGGER attempts_free_their_call ON attempts;

CREATE TRIGGER attempts_free_their_call AFTER UPDATE ON attempts
REFERENCING OLD TABLE AS were NEW TABLE AS ended
FOR EACH STATEMENT EXECUTE FUNCTION free_call();
