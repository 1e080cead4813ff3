-- Replies that came and that no reader has taken yet: their raw bytes, until they are read. A row
-- goes when its attempt ends; one that a kill, a full disk or a reader leaves behind is read first
-- by the next session, before anything is asked.
CREATE TABLE unread_replies (
    attempt  INTEGER PRIMARY KEY REFERENCES attempts (id),
    sent_at  REAL NOT NULL,
    ended_at REAL NOT NULL,
    status   INTEGER NOT NULL,
    headers  TEXT NOT NULL CHECK (json_valid(headers)),
    body     BLOB NOT NULL
);

CREATE TRIGGER unread_replies_are_of_open_calls BEFORE INSERT ON unread_replies
WHEN NOT EXISTS (
    SELECT 1 FROM attempts AS a
    WHERE a.id = NEW.attempt
        AND a.state IN ('started', 'orphaned')
        AND NOT EXISTS (SELECT 1 FROM completions AS r WHERE r.call = a.call)
)
BEGIN
    SELECT RAISE(ABORT, 'an unread reply belongs to an open attempt, or to an orphan of an open call');
END;

-- Fields of a reply that its reader could not take: the value is missing, and this is why.
CREATE TABLE unread_fields (
    call   INTEGER NOT NULL REFERENCES completions (call),
    field  TEXT NOT NULL CHECK (field <> ''),
    reason TEXT NOT NULL CHECK (reason <> ''),
    PRIMARY KEY (call, field)
) WITHOUT ROWID;

CREATE TRIGGER unread_fields_are_frozen BEFORE UPDATE ON unread_fields
BEGIN
    SELECT RAISE(ABORT, 'why a field is missing is never changed');
END;

-- An orphan whose reply turns up after all is completed by it: whoever held the reply may come
-- back later than somebody gave it up.
DROP TRIGGER attempts_end_once;

CREATE TRIGGER attempts_end_once BEFORE UPDATE ON attempts
WHEN (OLD.state <> 'started' AND NOT (OLD.state = 'orphaned' AND NEW.state = 'completed'))
    OR NEW.call <> OLD.call OR NEW.number <> OLD.number
BEGIN
    SELECT RAISE(ABORT, 'an attempt ends once and keeps its place');
END;

DROP TRIGGER completions_belong_to_an_open_attempt;

CREATE TRIGGER completions_belong_to_an_open_attempt BEFORE INSERT ON completions
WHEN NOT EXISTS (
    SELECT 1 FROM attempts
    WHERE id = NEW.attempt AND call = NEW.call AND state IN ('started', 'orphaned')
)
BEGIN
    SELECT RAISE(ABORT, 'a completion belongs to an open attempt of its own call, or to an orphan');
END;

DROP TRIGGER completions_close_their_attempt;

CREATE TRIGGER completions_close_their_attempt AFTER INSERT ON completions
BEGIN
    UPDATE attempts
    SET
        state = 'completed', sent_at = NEW.sent_at, ended_at = NEW.ended_at,
        status = NEW.status, at_risk = 0,
        detail = CASE WHEN state = 'orphaned' THEN 'its reply turned up late' ELSE detail END
    WHERE id = NEW.attempt;
END;
