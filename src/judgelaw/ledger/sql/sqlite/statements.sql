-- name: add_judge
INSERT INTO judges (name, model, judge_sha256) VALUES (?, ?, ?)
ON CONFLICT (name) DO NOTHING

-- name: add_call
INSERT INTO calls (
    call_id, judge, layer, item, stratum, prompt, "order", repeat, seed, position,
    request_sha256, payload_sha256, gold, date
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (call_id) DO NOTHING

-- name: manifest
SELECT value FROM meta WHERE key = 'manifest'

-- name: set_manifest
INSERT INTO meta (key, value) VALUES ('manifest', ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: begin_session
INSERT INTO sessions (pid, host, version, started_at) VALUES (?, ?, ?, ?)

-- name: end_session
UPDATE sessions SET ended_at = max(?, started_at) WHERE id = ?

-- name: counts
SELECT coalesce(max(id), 0), coalesce(sum(state = 'completed'), 0) FROM attempts

-- name: last_session
SELECT pid, host, started_at, ended_at FROM sessions ORDER BY id DESC LIMIT 1

-- name: judge_tokens
SELECT
    c.judge, count(*), coalesce(sum(r.input_tokens), 0), coalesce(sum(r.output_tokens), 0),
    coalesce(sum(r.cached_tokens), 0)
FROM completions AS r
JOIN calls AS c ON c.id = r.call
GROUP BY c.judge

-- name: ended_attempts
SELECT failed, orphaned, (SELECT detail FROM attempts WHERE id = last)
FROM (
    SELECT
        coalesce(sum(state = 'failed'), 0) AS failed,
        coalesce(sum(state = 'orphaned'), 0) AS orphaned,
        max(CASE WHEN state = 'failed' THEN id END) AS last
    FROM attempts
    WHERE state <> 'completed'
)

-- name: invalid_verdicts
SELECT c.judge, v.parser, count(*)
FROM verdicts AS v
JOIN calls AS c ON c.id = v.call
WHERE v.verdict = 'invalid'
GROUP BY 1, 2

-- name: losses
SELECT value FROM meta WHERE key LIKE 'loss %' ORDER BY key

-- name: add_loss
INSERT INTO meta (key, value)
SELECT printf('loss %06d', count(*) + 1), ? FROM meta WHERE key LIKE 'loss %'

-- name: open_attempts
SELECT a.id, b.state
FROM attempts AS a
LEFT JOIN batches AS b ON b.id = a.batch
WHERE a.state = 'started'
    AND coalesce(b.state, '') NOT IN ('submitting', 'submitted')
    AND NOT EXISTS (SELECT 1 FROM unread_replies AS u WHERE u.attempt = a.id)

-- name: orphan
UPDATE attempts SET state = 'orphaned', ended_at = ?, at_risk = 1 WHERE id = ?

-- name: next_open_calls
SELECT
    c.id,
    coalesce((SELECT max(a.number) FROM attempts AS a WHERE a.call = c.id), 0) + 1,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM calls AS c
JOIN judges AS j ON j.name = c.judge
WHERE c.judge = ?
    AND c.position > ?
    AND NOT EXISTS (SELECT 1 FROM completions AS r WHERE r.call = c.id)
    AND NOT EXISTS (SELECT 1 FROM attempts AS a WHERE a.call = c.id AND a.state = 'started')
ORDER BY c.position
LIMIT ?

-- name: start
INSERT INTO attempts (id, call, number, session, reserved_at) VALUES (?, ?, ?, ?, ?)

-- name: start_again
INSERT INTO attempts (id, call, number, session, reserved_at)
SELECT ?, call, number + 1, ?, ? FROM attempts WHERE id = ?

-- name: complete
INSERT INTO completions (
    call, attempt, sent_at, ended_at, status, body, text, finish_reason, refusal, content_filtered,
    input_tokens, output_tokens, cached_tokens, model, fingerprint, response_id, echoed_seed,
    replayed
)
SELECT a.call, v.*
FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)) AS v
LEFT JOIN attempts AS a ON a.id = v.column1

-- name: add_logprobs
INSERT INTO logprobs (call, tokens) VALUES ((SELECT call FROM attempts WHERE id = ?1), ?2)

-- name: add_unread_field
INSERT INTO unread_fields (call, field, reason)
VALUES ((SELECT call FROM attempts WHERE id = ?1), ?2, ?3)

-- name: add_unread_reply
-- A result of a batch that is fetched once more is the same.
INSERT INTO unread_replies (attempt, sent_at, ended_at, status, headers, body)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (attempt) DO UPDATE SET ended_at = excluded.ended_at

-- name: take_back_reply
INSERT INTO unread_replies (attempt, sent_at, ended_at, status, headers, body)
SELECT a.id, ?3, ?4, ?5, ?6, ?7
FROM attempts AS a
JOIN calls AS c ON c.id = a.call
WHERE a.id = ?1
    AND c.call_id = ?2
    AND a.state IN ('started', 'orphaned')
    AND NOT EXISTS (SELECT 1 FROM completions AS r WHERE r.call = a.call)
ON CONFLICT (attempt) DO NOTHING

-- name: drop_unread_reply
DELETE FROM unread_replies WHERE attempt = ?

-- name: unread_replies
SELECT
    u.sent_at, u.ended_at, u.status, u.headers, u.body,
    a.id, a.number,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM unread_replies AS u
JOIN attempts AS a ON a.id = u.attempt
JOIN calls AS c ON c.id = a.call
JOIN judges AS j ON j.name = c.judge
WHERE c.judge = ?
    AND NOT EXISTS (SELECT 1 FROM completions AS r WHERE r.call = c.id)
ORDER BY c.position

-- name: unread_attempts
SELECT attempt FROM unread_replies ORDER BY attempt

-- name: unread_fields
SELECT c.judge, f.field, f.reason, count(*)
FROM unread_fields AS f
JOIN calls AS c ON c.id = f.call
GROUP BY 1, 2, 3
ORDER BY 4 DESC, 1, 2, 3

-- name: open_sessions
SELECT id, pid, host, started_at FROM sessions WHERE ended_at IS NULL ORDER BY id

-- name: fail
UPDATE attempts
SET state = ?, sent_at = ?, ended_at = ?, status = ?, kind = ?, detail = ?, at_risk = ?
WHERE id = ? AND state <> 'orphaned'

-- name: unsend
UPDATE attempts SET state = 'unsent', ended_at = ? WHERE id = ?

-- name: add_verdict
INSERT INTO verdicts (call, parser, verdict, displayed, reason)
SELECT c.id, v.column2, v.column3, v.column4, v.column5
FROM (VALUES (?, ?, ?, ?, ?)) AS v
CROSS JOIN calls AS c ON c.call_id = v.column1
WHERE true
ON CONFLICT (call, parser) DO NOTHING

-- name: add_criterion_verdict
INSERT INTO criterion_verdicts (call, parser, criterion, verdict, displayed, reason)
SELECT id, ?2, ?3, ?4, ?5, ?6 FROM calls WHERE call_id = ?1
ON CONFLICT (call, parser, criterion) DO NOTHING

-- name: count_calls
SELECT
    (SELECT count(*) FROM calls WHERE ?1 IS NULL OR judge = ?1),
    count(*),
    coalesce(sum(r.input_tokens), 0),
    coalesce(sum(r.output_tokens), 0),
    coalesce(sum(r.cached_tokens), 0),
    coalesce(sum(r.input_tokens IS NULL OR r.output_tokens IS NULL), 0)
FROM completions AS r
JOIN calls AS c ON c.id = r.call
WHERE ?1 IS NULL OR c.judge = ?1

-- name: count_attempts
SELECT
    coalesce(sum(a.state = 'started'), 0),
    coalesce(sum(a.state = 'failed'), 0),
    coalesce(sum(a.state = 'orphaned'), 0),
    coalesce(sum(a.state = 'refused'), 0),
    coalesce(sum(a.state = 'unsent'), 0),
    coalesce(sum(a.at_risk), 0)
FROM attempts AS a
JOIN calls AS c ON c.id = a.call
WHERE ?1 IS NULL OR c.judge = ?1

-- name: count_flagged
SELECT count(DISTINCT f.call)
FROM flags AS f
JOIN calls AS c ON c.id = f.call
WHERE (?1 IS NULL OR c.judge = ?1)
    AND NOT (f.kind = 'model' AND instr(?2, char(30) || c.judge || char(31) || f.detail || char(30)) > 0)

-- name: judge_calls
SELECT
    j.name,
    count(c.id),
    count(r.call),
    coalesce(sum((
        SELECT count(*) FROM attempts AS a WHERE a.call = c.id AND a.state <> 'unsent'
    ) > 1), 0)
FROM judges AS j
LEFT JOIN calls AS c ON c.judge = j.name
LEFT JOIN completions AS r ON r.call = c.id
GROUP BY j.name
ORDER BY j.name

-- name: judge_shares
SELECT c.judge, count(*), count(r.call)
FROM calls AS c
LEFT JOIN completions AS r ON r.call = c.id
GROUP BY c.judge
ORDER BY c.judge

-- name: finish_reasons
SELECT c.judge, coalesce(r.finish_reason, 'not said'), count(*)
FROM completions AS r
JOIN calls AS c ON c.id = r.call
GROUP BY 1, 2

-- name: failures
SELECT c.judge, coalesce(a.kind, a.state), count(*)
FROM attempts AS a
JOIN calls AS c ON c.id = a.call
WHERE a.state IN ('failed', 'refused', 'orphaned')
GROUP BY 1, 2

-- name: failure_words
SELECT c.judge, a.detail, count(*)
FROM attempts AS a
JOIN calls AS c ON c.id = a.call
WHERE a.state IN ('failed', 'refused') AND a.detail <> ''
GROUP BY 1, 2
ORDER BY 3 DESC, max(a.id) DESC

-- name: unreadable
SELECT c.judge, k.criterion, v.parser, substr(trim(r.text), 1, 120), count(*)
FROM verdicts AS v
JOIN completions AS r ON r.call = v.call
JOIN calls AS c ON c.id = v.call
LEFT JOIN criterion_verdicts AS k ON k.call = v.call AND k.parser = v.parser
WHERE coalesce(k.reason, v.reason) IN ('no label', 'unknown label')
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC, 4, 2

-- name: returned_models
SELECT c.judge, j.model, r.model
FROM completions AS r
JOIN calls AS c ON c.id = r.call
JOIN judges AS j ON j.name = c.judge
WHERE r.model IS NOT NULL AND j.model IS NOT NULL
GROUP BY 1, 2, 3

-- name: flag_kinds
SELECT c.judge, f.kind, count(*)
FROM flags AS f
JOIN calls AS c ON c.id = f.call
WHERE NOT (f.kind = 'model' AND instr(?1, char(30) || c.judge || char(31) || f.detail || char(30)) > 0)
GROUP BY 1, 2

-- name: models
SELECT c.judge, coalesce(r.model, 'not said'), count(*)
FROM completions AS r
JOIN calls AS c ON c.id = r.call
GROUP BY 1, 2

-- name: fingerprints
SELECT c.judge, r.fingerprint, count(*)
FROM completions AS r
JOIN calls AS c ON c.id = r.call
WHERE r.fingerprint IS NOT NULL
GROUP BY 1, 2

-- name: verdict_counts
SELECT c.judge, v.parser, v.verdict, v.reason, count(*)
FROM verdicts AS v
JOIN calls AS c ON c.id = v.call
GROUP BY 1, 2, 3, 4
ORDER BY 1, 2, 3, 4

-- name: calls
SELECT
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM calls AS c
JOIN judges AS j ON j.name = c.judge
ORDER BY c.position, c.call_id

-- name: attempts
SELECT
    a.id, c.call_id, a.number, a.session, a.state, a.reserved_at, a.sent_at, a.ended_at, a.status,
    a.kind, a.detail
FROM attempts AS a
JOIN calls AS c ON c.id = a.call
ORDER BY a.id

-- name: completions
SELECT
    r.attempt,
    (SELECT count(*) FROM attempts AS a WHERE a.call = r.call AND a.state <> 'unsent'),
    r.sent_at, r.ended_at, r.status, r.body, r.text, r.finish_reason, r.refusal,
    r.content_filtered, r.input_tokens, r.output_tokens, r.cached_tokens, r.model, r.fingerprint,
    r.response_id, r.echoed_seed, r.replayed,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
-- Along the index of calls, since sorting would hold every body; CROSS JOIN fixes that plan.
FROM calls AS c
CROSS JOIN completions AS r ON r.call = c.id
JOIN judges AS j ON j.name = c.judge
ORDER BY c.judge, c.position

-- name: replies
SELECT
    c.call_id, c.layer, c.judge, c.item, c.prompt, c."order", c.repeat, c.seed, r.response_id,
    r.text, r.refusal, r.content_filtered, c.date
FROM completions AS r
JOIN calls AS c ON c.id = r.call
WHERE ?1 IS NULL OR c.layer = ?1
ORDER BY r.call

-- name: verdicts
SELECT
    k.criterion, k.verdict, k.displayed, k.reason,
    v.parser, v.verdict, v.displayed, v.reason, c.call_id
FROM verdicts AS v
JOIN calls AS c ON c.id = v.call
LEFT JOIN criterion_verdicts AS k ON k.call = v.call AND k.parser = v.parser
WHERE ?1 IS NULL OR v.parser = ?1
ORDER BY c.judge, c.position, v.parser, k.criterion

-- name: judged
SELECT
    k.criterion, k.verdict, k.displayed, k.reason,
    v.parser, v.verdict, v.displayed, v.reason,
    (SELECT count(*) FROM attempts AS a WHERE a.call = r.call AND a.state <> 'unsent'),
    r.sent_at, r.ended_at, r.finish_reason, r.input_tokens, r.output_tokens, r.cached_tokens,
    l.tokens, CASE WHEN l.tokens IS NOT NULL THEN r.text END, r.refusal, r.content_filtered,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM verdicts AS v
JOIN completions AS r ON r.call = v.call
LEFT JOIN logprobs AS l ON l.call = v.call
JOIN calls AS c ON c.id = v.call
JOIN judges AS j ON j.name = c.judge
LEFT JOIN criterion_verdicts AS k ON k.call = v.call AND k.parser = v.parser
ORDER BY c.judge, c.layer, c.date, c.item, c."order", c.repeat, c.prompt, v.parser, k.criterion

-- name: unjudged
SELECT c.call_id, c."order", r.text, r.finish_reason, r.refusal, r.content_filtered
FROM completions AS r
JOIN calls AS c ON c.id = r.call
WHERE c.judge = ?
    AND NOT EXISTS (SELECT 1 FROM verdicts AS v WHERE v.call = r.call AND v.parser = ?)
ORDER BY c.position

-- name: flags
SELECT c.call_id, f.kind, f.detail
FROM flags AS f
JOIN calls AS c ON c.id = f.call
WHERE NOT (f.kind = 'model' AND instr(?1, char(30) || c.judge || char(31) || f.detail || char(30)) > 0)
ORDER BY c.position, f.kind

-- name: archive_session
INSERT INTO sessions (id, pid, host, version, started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)

-- name: archive_attempt
INSERT INTO attempts (
    id, call, number, session, state, reserved_at, sent_at, ended_at, status, kind, detail,
    at_risk, batch
)
VALUES (?, (SELECT id FROM calls WHERE call_id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: archive_batch
INSERT INTO batches (
    id, uid, judge, state, provider_id, prepared_at, submitted_at, ended_at, detail
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: prepare_batch
INSERT INTO batches (uid, judge, prepared_at) VALUES (?, ?, ?)

-- name: join_batch
UPDATE attempts SET batch = ? WHERE id = ?

-- name: note_batch
UPDATE batches
SET
    state = ?2,
    provider_id = coalesce(?3, provider_id),
    submitted_at = CASE WHEN ?2 = 'submitting' THEN ?4 ELSE submitted_at END,
    ended_at = CASE WHEN ?2 IN ('ended', 'orphaned', 'withdrawn') THEN ?4 END,
    detail = coalesce(?5, detail)
WHERE id = ?1

-- name: orphan_batch
UPDATE attempts SET state = 'orphaned', ended_at = ?2, at_risk = 1
WHERE batch = ?1 AND state = 'started'

-- name: unsend_batch
UPDATE attempts SET state = 'unsent', ended_at = ?2 WHERE batch = ?1 AND state = 'started'

-- name: prepared_batches
SELECT id FROM batches WHERE state = 'prepared'

-- name: open_batches
SELECT id, uid, provider_id, submitted_at, detail
FROM batches
WHERE judge = ? AND state IN ('submitting', 'submitted')
ORDER BY id

-- name: batch_attempts
SELECT
    a.id, a.number,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM attempts AS a
JOIN calls AS c ON c.id = a.call
JOIN judges AS j ON j.name = c.judge
WHERE a.batch = ? AND a.state = 'started'
ORDER BY a.id

-- name: batches
SELECT
    b.id, b.uid, b.judge, b.state, b.provider_id, b.prepared_at, b.submitted_at, b.ended_at,
    b.detail, (SELECT count(*) FROM attempts AS a WHERE a.batch = b.id)
FROM batches AS b
ORDER BY b.id

-- name: offsets
-- Rows of a part follow those that are there: every number moves by as much.
SELECT
    (SELECT coalesce(max(id), 0) FROM main.sessions) AS session,
    (SELECT coalesce(max(id), 0) FROM main.attempts) AS attempt,
    (SELECT coalesce(max(id), 0) FROM main.batches) AS batch

-- name: twice
-- A call that was completed before, or that the manifest does not have.
SELECT
    c.call_id, EXISTS (SELECT 1 FROM main.calls AS m WHERE m.call_id = c.call_id) AS planned
FROM part.attempts AS a
JOIN part.calls AS c ON c.id = a.call
LEFT JOIN main.calls AS m ON m.call_id = c.call_id
WHERE m.id IS NULL
    OR EXISTS (SELECT 1 FROM main.attempts AS b WHERE b.call = m.id AND b.state <> 'unsent')
ORDER BY c.position
LIMIT 1

-- name: join_sessions
INSERT INTO main.sessions (id, pid, host, version, started_at, ended_at)
SELECT id + :session, pid, host, version, started_at, ended_at FROM part.sessions ORDER BY id

-- name: join_losses
INSERT INTO main.meta (key, value)
SELECT
    printf(
        'loss %06d',
        row_number() OVER (ORDER BY key)
        + (SELECT count(*) FROM main.meta WHERE key LIKE 'loss %')
    ),
    value
FROM part.meta
WHERE key LIKE 'loss %'

-- name: join_batches
INSERT INTO main.batches (
    id, uid, judge, state, provider_id, prepared_at, submitted_at, ended_at, detail
)
SELECT id + :batch, uid, judge, state, provider_id, prepared_at, submitted_at, ended_at, detail
FROM part.batches
ORDER BY id

-- name: join_attempts
-- As they stood before their completions, which end them by a rule.
INSERT INTO main.attempts (
    id, call, number, session, state, reserved_at, sent_at, ended_at, status, kind, detail,
    at_risk, batch
)
SELECT
    a.id + :attempt, m.id, a.number, a.session + :session,
    CASE
        WHEN a.state = 'completed' AND coalesce(a.detail, '') = :late THEN 'orphaned'
        WHEN a.state = 'completed' THEN 'started'
        ELSE a.state
    END,
    a.reserved_at,
    CASE WHEN a.state <> 'completed' THEN a.sent_at END,
    CASE
        WHEN a.state = 'completed' AND coalesce(a.detail, '') = :late THEN a.reserved_at
        WHEN a.state <> 'completed' THEN a.ended_at
    END,
    CASE WHEN a.state <> 'completed' THEN a.status END,
    CASE WHEN a.state <> 'completed' THEN a.kind END,
    CASE WHEN a.state <> 'completed' THEN a.detail END,
    CASE WHEN a.state <> 'completed' THEN a.at_risk ELSE 0 END,
    a.batch + :batch
FROM part.attempts AS a
JOIN part.calls AS c ON c.id = a.call
JOIN main.calls AS m ON m.call_id = c.call_id
ORDER BY a.id

-- name: join_completions
INSERT INTO main.completions (
    call, attempt, sent_at, ended_at, status, body, text, finish_reason, refusal, content_filtered,
    input_tokens, output_tokens, cached_tokens, model, fingerprint, response_id, echoed_seed,
    replayed
)
SELECT
    m.id, r.attempt + :attempt, r.sent_at, r.ended_at, r.status, r.body, r.text, r.finish_reason,
    r.refusal, r.content_filtered, r.input_tokens, r.output_tokens, r.cached_tokens, r.model,
    r.fingerprint, r.response_id, r.echoed_seed, r.replayed
FROM part.completions AS r
JOIN part.calls AS c ON c.id = r.call
JOIN main.calls AS m ON m.call_id = c.call_id
ORDER BY r.attempt

-- name: join_logprobs
INSERT INTO main.logprobs (call, tokens)
SELECT m.id, t.tokens
FROM part.logprobs AS t
JOIN part.calls AS c ON c.id = t.call
JOIN main.calls AS m ON m.call_id = c.call_id

-- name: join_unread_fields
INSERT INTO main.unread_fields (call, field, reason)
SELECT m.id, u.field, u.reason
FROM part.unread_fields AS u
JOIN part.calls AS c ON c.id = u.call
JOIN main.calls AS m ON m.call_id = c.call_id

-- name: join_unread_replies
INSERT INTO main.unread_replies (attempt, sent_at, ended_at, status, headers, body)
SELECT attempt + :attempt, sent_at, ended_at, status, headers, body FROM part.unread_replies

-- name: join_verdicts
INSERT INTO main.verdicts (call, parser, verdict, displayed, reason)
SELECT m.id, v.parser, v.verdict, v.displayed, v.reason
FROM part.verdicts AS v
JOIN part.calls AS c ON c.id = v.call
JOIN main.calls AS m ON m.call_id = c.call_id

-- name: join_criterion_verdicts
INSERT INTO main.criterion_verdicts (call, parser, criterion, verdict, displayed, reason)
SELECT m.id, v.parser, v.criterion, v.verdict, v.displayed, v.reason
FROM part.criterion_verdicts AS v
JOIN part.calls AS c ON c.id = v.call
JOIN main.calls AS m ON m.call_id = c.call_id
