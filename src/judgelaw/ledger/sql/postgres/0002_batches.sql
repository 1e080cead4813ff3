-- Calls that are asked through a provider's batch interface, as in the SQLite ledger: their
-- attempts stay open while the batch is with the provider, longer than any session. `session` is
-- who collects it; when that session ends, another one takes it over.
CREATE TABLE batches (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uid          text NOT NULL UNIQUE,
    judge        text NOT NULL REFERENCES judges (name),
    state        text NOT NULL DEFAULT 'prepared' CHECK (
        state IN ('prepared', 'submitting', 'submitted', 'ended', 'orphaned', 'withdrawn')
    ),
    provider_id  text,
    prepared_at  double precision NOT NULL,
    submitted_at double precision,
    ended_at     double precision,
    detail       text,
    session      bigint REFERENCES sessions (id),
    UNIQUE (judge, provider_id),
    CHECK (state NOT IN ('submitted', 'ended') OR provider_id IS NOT NULL),
    CHECK ((state IN ('ended', 'orphaned', 'withdrawn')) = (ended_at IS NOT NULL))
);

ALTER TABLE attempts ADD COLUMN batch bigint REFERENCES batches (id);

CREATE INDEX attempts_of_batch ON attempts (batch) WHERE batch IS NOT NULL;

CREATE FUNCTION check_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.ended_at IS NOT NULL OR NEW.uid <> OLD.uid OR NEW.judge <> OLD.judge THEN
        RAISE EXCEPTION 'a batch ends once and keeps its name'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.ended_at IS NOT NULL AND EXISTS (
        SELECT 1 FROM attempts WHERE batch = NEW.id AND state = 'started'
    ) THEN
        RAISE EXCEPTION 'a batch ends when every attempt in it has ended'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER batches_end_once BEFORE UPDATE ON batches FOR EACH ROW
EXECUTE FUNCTION check_batch();

CREATE TRIGGER batches_are_kept BEFORE DELETE OR TRUNCATE ON batches FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('a batch is never deleted');
