-- Calls that are asked through a provider's batch interface wait there for hours, longer than any
-- session. Their attempts stay open while the batch is with the provider.
--
-- prepared    durable before anything is sent; a session that ends here has asked for nothing
-- submitting  the provider may have it: its name there is not known yet
-- submitted   the provider has it, under the name `provider_id`
-- ended       every attempt in it has ended
-- orphaned    nobody heard its name: it may have been answered and paid, and cannot be collected
-- withdrawn   never sent, or rejected as a whole
CREATE TABLE batches (
    id           INTEGER PRIMARY KEY,
    uid          TEXT NOT NULL UNIQUE,
    judge        TEXT NOT NULL REFERENCES judges (name),
    state        TEXT NOT NULL DEFAULT 'prepared' CHECK (
        state IN ('prepared', 'submitting', 'submitted', 'ended', 'orphaned', 'withdrawn')
    ),
    provider_id  TEXT,
    prepared_at  REAL NOT NULL,
    submitted_at REAL,
    ended_at     REAL,
    detail       TEXT,
    UNIQUE (judge, provider_id),
    CHECK (state NOT IN ('submitted', 'ended') OR provider_id IS NOT NULL),
    CHECK ((state IN ('ended', 'orphaned', 'withdrawn')) = (ended_at IS NOT NULL))
);

ALTER TABLE attempts ADD COLUMN batch INTEGER REFERENCES batches (id);

CREATE INDEX attempts_of_batch ON attempts (batch) WHERE batch IS NOT NULL;

CREATE TRIGGER batches_end_once BEFORE UPDATE ON batches
WHEN OLD.ended_at IS NOT NULL OR NEW.uid <> OLD.uid OR NEW.judge <> OLD.judge
BEGIN
    SELECT RAISE(ABORT, 'a batch ends once and keeps its name');
END;

CREATE TRIGGER batches_end_with_their_attempts BEFORE UPDATE ON batches
WHEN NEW.ended_at IS NOT NULL
    AND EXISTS (SELECT 1 FROM attempts WHERE batch = NEW.id AND state = 'started')
BEGIN
    SELECT RAISE(ABORT, 'a batch ends when every attempt in it has ended');
END;

CREATE TRIGGER batches_are_kept BEFORE DELETE ON batches
BEGIN
    SELECT RAISE(ABORT, 'a batch is never deleted');
END;
