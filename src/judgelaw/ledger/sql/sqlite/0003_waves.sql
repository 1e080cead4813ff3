-- Calls of one study that are asked again on later dates: a wave. NULL where a run has one wave
-- without a date.
ALTER TABLE calls ADD COLUMN date TEXT CHECK (date <> '');

-- Verdicts on single criteria of one completion, beside the verdict as a whole.
CREATE TABLE criterion_verdicts (
    call      INTEGER NOT NULL REFERENCES completions (call),
    parser    TEXT NOT NULL,
    criterion TEXT NOT NULL CHECK (criterion <> ''),
    verdict   TEXT NOT NULL CHECK (verdict <> ''),
    displayed TEXT,
    reason    TEXT NOT NULL,
    PRIMARY KEY (call, parser, criterion)
) WITHOUT ROWID;

CREATE TRIGGER criterion_verdicts_are_frozen BEFORE UPDATE ON criterion_verdicts
BEGIN
    SELECT RAISE(ABORT, 'a verdict is never changed; reparse adds one under another parser version');
END;

-- Log probabilities of tokens, as the provider listed them: a JSON document for each completion.
CREATE TABLE logprobs (
    call   INTEGER PRIMARY KEY REFERENCES completions (call),
    tokens TEXT NOT NULL CHECK (json_valid(tokens))
);

CREATE TRIGGER logprobs_are_frozen BEFORE UPDATE ON logprobs
BEGIN
    SELECT RAISE(ABORT, 'log probabilities are never changed');
END;

CREATE TRIGGER logprobs_are_kept BEFORE DELETE ON logprobs
BEGIN
    SELECT RAISE(ABORT, 'log probabilities are never deleted');
END;
