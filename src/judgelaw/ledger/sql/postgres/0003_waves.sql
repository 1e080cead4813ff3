-- Waves, criteria and log probabilities, as in the SQLite ledger.
ALTER TABLE calls ADD COLUMN date text CHECK (date <> '');

CREATE TABLE criterion_verdicts (
    call      bigint NOT NULL REFERENCES completions (call),
    parser    text NOT NULL,
    criterion text NOT NULL CHECK (criterion <> ''),
    verdict   text NOT NULL CHECK (verdict <> ''),
    displayed text,
    reason    text NOT NULL,
    PRIMARY KEY (call, parser, criterion)
);

CREATE TRIGGER criterion_verdicts_are_frozen BEFORE UPDATE ON criterion_verdicts
FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('a verdict is never changed');

-- Text, and not json: what a provider wrote stays as it was written, NUL characters packed.
CREATE TABLE logprobs (
    call   bigint PRIMARY KEY REFERENCES completions (call),
    tokens text NOT NULL CHECK (tokens <> '')
);

CREATE TRIGGER logprobs_are_frozen BEFORE UPDATE ON logprobs FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('log probabilities are never changed');

CREATE TRIGGER logprobs_are_kept BEFORE DELETE OR TRUNCATE ON logprobs FOR EACH STATEMENT
EXECUTE FUNCTION refuse_change('log probabilities are never deleted');
