-- The ledger of one run. The database refuses illegal states, so that no version of the code,
-- no script and no hand edit can put one there unnoticed.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row for each process that wrote here. A session without an end was killed, or is running.
CREATE TABLE sessions (
    id         INTEGER PRIMARY KEY,
    pid        INTEGER NOT NULL,
    host       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at   REAL CHECK (ended_at >= started_at)
);

CREATE TABLE judges (
    name          TEXT PRIMARY KEY,
    model         TEXT,
    judge_sha256  BLOB NOT NULL CHECK (length(judge_sha256) = 32)
) WITHOUT ROWID;

CREATE TABLE calls (
    id             INTEGER PRIMARY KEY,
    call_id        TEXT NOT NULL UNIQUE CHECK (length(call_id) = 32),
    judge          TEXT NOT NULL REFERENCES judges (name),
    layer          TEXT NOT NULL,
    item           TEXT NOT NULL,
    stratum        TEXT,
    prompt         TEXT NOT NULL,
    "order"        TEXT NOT NULL,
    repeat         INTEGER NOT NULL CHECK (repeat >= 0),
    seed           INTEGER,
    position       INTEGER NOT NULL CHECK (position >= 0),
    request_sha256 BLOB NOT NULL CHECK (length(request_sha256) = 32),
    payload_sha256 BLOB NOT NULL CHECK (length(payload_sha256) = 32),
    gold           TEXT
);

-- The scheduler walks one judge in schedule order; two calls never share a place in it.
CREATE UNIQUE INDEX calls_schedule ON calls (judge, position);

CREATE TRIGGER calls_are_frozen BEFORE UPDATE ON calls
BEGIN
    SELECT RAISE(ABORT, 'a frozen call is never changed');
END;

CREATE TRIGGER calls_are_kept BEFORE DELETE ON calls
BEGIN
    SELECT RAISE(ABORT, 'a frozen call is never deleted');
END;

-- started    reserved, durable before the wire is touched
-- completed  ended in the call's one completion
-- failed     ended without a completion; `kind` and `detail` say how
-- orphaned   found open after a kill: it may have been answered, and the answer is lost
-- refused    the provider refused the key or the account: nothing was judged, nobody failed
-- unsent     reserved and never sent
CREATE TABLE attempts (
    id          INTEGER PRIMARY KEY,
    call        INTEGER NOT NULL REFERENCES calls (id),
    number      INTEGER NOT NULL CHECK (number >= 1),
    session     INTEGER NOT NULL REFERENCES sessions (id),
    state       TEXT NOT NULL DEFAULT 'started' CHECK (
        state IN ('started', 'completed', 'failed', 'orphaned', 'refused', 'unsent')
    ),
    reserved_at REAL NOT NULL,
    sent_at     REAL,
    ended_at    REAL,
    status      INTEGER,
    kind        TEXT,
    detail      TEXT,
    at_risk     INTEGER NOT NULL DEFAULT 0 CHECK (at_risk IN (0, 1)), -- perhaps answered and paid
    UNIQUE (call, number),
    CHECK ((state = 'started') = (ended_at IS NULL)),
    CHECK ((state IN ('failed', 'refused')) = (kind IS NOT NULL)),
    CHECK (state NOT IN ('completed', 'failed', 'refused') OR sent_at IS NOT NULL),
    CHECK (state <> 'unsent' OR sent_at IS NULL)
);

-- At most one a call, since the call is the key. At most one an attempt, since the triggers below
-- let a completion in only for an open attempt of that call: no second index is needed for it.
CREATE TABLE completions (
    call             INTEGER PRIMARY KEY,
    attempt          INTEGER NOT NULL,
    sent_at          REAL NOT NULL,
    ended_at         REAL NOT NULL,
    status           INTEGER NOT NULL,
    body             BLOB NOT NULL,
    text             TEXT,
    finish_reason    TEXT,
    refusal          TEXT,
    content_filtered INTEGER NOT NULL CHECK (content_filtered IN (0, 1)),
    input_tokens     INTEGER CHECK (input_tokens >= 0),
    output_tokens    INTEGER CHECK (output_tokens >= 0),
    cached_tokens    INTEGER CHECK (cached_tokens >= 0),
    model            TEXT,
    fingerprint      TEXT,
    response_id      TEXT,
    echoed_seed      INTEGER,
    replayed         INTEGER NOT NULL DEFAULT 0 CHECK (replayed IN (0, 1))
);

CREATE TRIGGER attempts_for_open_calls_only BEFORE INSERT ON attempts
WHEN EXISTS (SELECT 1 FROM completions WHERE call = NEW.call)
BEGIN
    SELECT RAISE(ABORT, 'a completed call is never requested again');
END;

-- A rule in place of a partial index, which each attempt would enter and leave again.
CREATE TRIGGER attempts_one_at_a_time BEFORE INSERT ON attempts
WHEN EXISTS (SELECT 1 FROM attempts WHERE call = NEW.call AND state = 'started')
BEGIN
    SELECT RAISE(ABORT, 'two attempts of a call are never open at once');
END;

CREATE TRIGGER attempts_end_once BEFORE UPDATE ON attempts
WHEN OLD.state <> 'started' OR NEW.call <> OLD.call OR NEW.number <> OLD.number
BEGIN
    SELECT RAISE(ABORT, 'an attempt ends once and keeps its place');
END;

CREATE TRIGGER attempts_complete_with_a_completion BEFORE UPDATE ON attempts
WHEN NEW.state = 'completed'
    AND NOT EXISTS (SELECT 1 FROM completions WHERE call = NEW.call AND attempt = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'an attempt completes only with its completion');
END;

CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
BEGIN
    SELECT RAISE(ABORT, 'an attempt is never deleted');
END;

CREATE TRIGGER completions_belong_to_an_open_attempt BEFORE INSERT ON completions
WHEN NOT EXISTS (
    SELECT 1 FROM attempts WHERE id = NEW.attempt AND call = NEW.call AND state = 'started'
)
BEGIN
    SELECT RAISE(ABORT, 'a completion belongs to an open attempt of its own call');
END;

-- Completion and state change cannot come apart: the second is a consequence of the first.
CREATE TRIGGER completions_close_their_attempt AFTER INSERT ON completions
BEGIN
    UPDATE attempts
    SET state = 'completed', sent_at = NEW.sent_at, ended_at = NEW.ended_at, status = NEW.status
    WHERE id = NEW.attempt;
END;

CREATE TRIGGER completions_are_frozen BEFORE UPDATE ON completions
BEGIN
    SELECT RAISE(ABORT, 'a completion is never changed');
END;

CREATE TRIGGER completions_are_kept BEFORE DELETE ON completions
BEGIN
    SELECT RAISE(ABORT, 'a completion is never deleted');
END;

CREATE TABLE verdicts (
    call      INTEGER NOT NULL REFERENCES completions (call),
    parser    TEXT NOT NULL,
    verdict   TEXT NOT NULL CHECK (verdict <> ''),
    displayed TEXT,
    reason    TEXT NOT NULL,
    PRIMARY KEY (call, parser)
) WITHOUT ROWID;

CREATE TRIGGER verdicts_are_frozen BEFORE UPDATE ON verdicts
BEGIN
    SELECT RAISE(ABORT, 'a verdict is never changed; reparse adds one under another parser version');
END;

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
SELECT call, 'seed', CAST(echoed_seed AS TEXT) FROM replies WHERE echoed_seed <> seed
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
)
WHERE seen > 1
UNION ALL
SELECT call, 'fingerprint', fingerprint FROM (
    SELECT
        call,
        fingerprint,
        first_value(fingerprint) OVER (PARTITION BY judge ORDER BY attempt) AS first
    FROM replies
    WHERE fingerprint IS NOT NULL
)
WHERE fingerprint <> first;
