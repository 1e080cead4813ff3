-- What is executed on the ledger of one run. `:run.` stands for its schema: every statement names it,
-- since a pooler may hand each transaction to another connection, and settings do not move along.

-- name: runs
SELECT n.nspname
FROM pg_catalog.pg_namespace AS n
JOIN pg_catalog.pg_class AS t ON t.relnamespace = n.oid AND t.relname = 'open_calls'
WHERE starts_with(n.nspname, $1)
ORDER BY n.oid

-- name: deposit
INSERT INTO :run.inputs (name, content) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET content = excluded.content

-- name: inputs
SELECT name, content FROM :run.inputs

-- name: known_sessions
SELECT id, pid, host, started_at::text FROM :run.sessions

-- name: begin_session
INSERT INTO :run.sessions (pid, host, version, attempts, lease_s, round)
SELECT $1, $2, $3, $4, $5, coalesce(
    max(round) FILTER (WHERE ended_at IS NULL), max(round) + 1, 1
)
FROM :run.sessions
RETURNING id, round, started_at::text

-- name: settings
-- For one transaction: behind a pooler the next one may have another connection. What is committed
-- is on the disk whatever the server's default is, and a worker that freezes holds no lock for long.
SELECT
    set_config('synchronous_commit', 'on', true),
    set_config('idle_in_transaction_session_timeout', $1, true)

-- name: fence
WITH settings AS MATERIALIZED (
    SELECT
        set_config('synchronous_commit', 'on', true),
        set_config('idle_in_transaction_session_timeout', $3, true)
)
UPDATE :run.sessions
SET groups = $2, heartbeat_at = clock_timestamp()
FROM settings
WHERE id = $1 AND ended_at IS NULL AND groups = $2 - 1

-- name: probe
SELECT set_config('judgelaw.probe', $1, true)

-- name: probed
SELECT
    current_setting('judgelaw.probe', true), current_setting('synchronous_commit'),
    pg_is_in_recovery()

-- name: session
SELECT groups, ended_at IS NULL FROM :run.sessions WHERE id = $1

-- name: silent_sessions
-- For how long each has not been heard of, at all and since this server has been up.
SELECT
    id, pid, host, lease_s,
    extract(epoch FROM clock_timestamp() - heartbeat_at)::double precision,
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::double precision
FROM :run.sessions
WHERE ended_at IS NULL
    AND heartbeat_at + lease_s * interval '1 second' < clock_timestamp()
    AND id <> $1
ORDER BY id
FOR UPDATE SKIP LOCKED

-- name: settle_session
UPDATE :run.attempts
SET
    state = CASE WHEN sent_at IS NULL THEN 'unsent' ELSE 'orphaned' END,
    ended_at = extract(epoch FROM clock_timestamp()),
    at_risk = sent_at IS NOT NULL
WHERE session = $1
    AND state = 'started'
    AND NOT EXISTS (
        SELECT 1 FROM :run.batches AS b
        WHERE b.id = attempts.batch AND b.state IN ('submitting', 'submitted')
    )
    AND NOT EXISTS (SELECT 1 FROM :run.unread_replies AS u WHERE u.attempt = attempts.id)

-- name: let_go
UPDATE :run.open_calls SET session = NULL WHERE session = $1 AND attempt IS NULL

-- name: let_batches_go
UPDATE :run.batches
SET
    session = NULL,
    state = CASE WHEN state = 'prepared' THEN 'withdrawn' ELSE state END,
    ended_at = CASE WHEN state = 'prepared' THEN extract(epoch FROM clock_timestamp()) END
WHERE session = $1 AND state IN ('prepared', 'submitting', 'submitted')

-- name: end_session
UPDATE :run.sessions SET ended_at = clock_timestamp(), lost = $2 WHERE id = $1 AND ended_at IS NULL

-- name: remaining_calls
-- One statement sees one moment: what is free now is not held a moment later as well. The free ones
-- come as a row without a holder.
SELECT NULL::integer, NULL::text, count(*)
FROM :run.open_calls AS o
LEFT JOIN :run.sessions AS s ON s.id = o.session
WHERE (o.session IS NULL AND NOT (o.round = $1 AND o.failures >= $2))
    -- in a batch that waits at a provider, with nobody to collect it
    OR s.ended_at IS NOT NULL
UNION ALL
(
    SELECT s.pid, s.host, count(*)
    FROM :run.open_calls AS o
    JOIN :run.sessions AS s ON s.id = o.session
    WHERE o.session <> $3 AND s.ended_at IS NULL
    GROUP BY s.pid, s.host
    ORDER BY s.host, s.pid
)

-- name: add_judge
INSERT INTO :run.judges (name, model, judge_sha256) VALUES ($1, $2, $3)
ON CONFLICT (name) DO NOTHING

-- name: other_judge
SELECT judge_sha256 <> $2 FROM :run.judges WHERE name = $1

-- name: incoming
CREATE TEMPORARY TABLE pg_temp.incoming (
    call_id        text,
    judge          text,
    layer          text,
    item           text,
    stratum        text,
    prompt         text,
    "order"        text,
    repeat         integer,
    seed           bigint,
    position       bigint,
    request_sha256 bytea,
    payload_sha256 bytea,
    gold           text,
    date           text
) ON COMMIT DROP

-- name: copy_calls
COPY pg_temp.incoming (
    call_id, judge, layer, item, stratum, prompt, "order", repeat, seed, position,
    request_sha256, payload_sha256, gold, date
) FROM STDIN (FORMAT BINARY)

-- name: foreign_calls
SELECT count(*)
FROM pg_temp.incoming AS i
JOIN :run.calls AS c ON c.call_id = i.call_id OR (c.judge = i.judge AND c.position = i.position)
WHERE (
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, c.gold, c.date
) IS DISTINCT FROM (
    i.call_id, i.judge, i.layer, i.item, i.stratum, i.prompt, i."order", i.repeat, i.seed,
    i.position, i.request_sha256, i.payload_sha256, i.gold, i.date
)

-- name: add_calls
INSERT INTO :run.calls (
    call_id, judge, layer, item, stratum, prompt, "order", repeat, seed, position,
    request_sha256, payload_sha256, gold, date
)
SELECT
    i.call_id, i.judge, i.layer, i.item, i.stratum, i.prompt, i."order", i.repeat, i.seed,
    i.position, i.request_sha256, i.payload_sha256, i.gold, i.date
FROM pg_temp.incoming AS i
ORDER BY i.position
ON CONFLICT (call_id) DO NOTHING

-- name: call_count
SELECT count(*) FROM :run.calls

-- name: manifest
SELECT value FROM :run.meta WHERE key = 'manifest'

-- name: set_manifest
INSERT INTO :run.meta (key, value) VALUES ('manifest', $1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: set_judge_limits
UPDATE :run.judges
SET
    request_s = $2, token_s = $3,
    input_per_mtok = $4, output_per_mtok = $5, cached_input_per_mtok = $6
WHERE name = $1

-- name: drop_purse
DELETE FROM :run.purse

-- name: lock_purse
LOCK TABLE :run.purse IN EXCLUSIVE MODE

-- name: fill_purse
INSERT INTO :run.purse (
    most_calls, most_tokens, most_usd, calls, tokens, usd, under_way, held_tokens, held_usd
)
SELECT
    $1::bigint, $2::double precision, $3::double precision,
    spent.n + lost.n,
    spent.tokens + lost.tokens,
    spent.usd + lost.usd,
    held.n, held.tokens, held.usd
FROM (
    SELECT
        count(*) AS n,
        coalesce(sum(r.input_tokens + r.output_tokens), 0) AS tokens,
        coalesce(sum(
            (r.input_tokens - coalesce(r.cached_tokens, 0)) * j.input_per_mtok
            + coalesce(r.cached_tokens, 0) * j.cached_input_per_mtok
            + r.output_tokens * j.output_per_mtok
        ), 0) / 1e6 AS usd
    FROM :run.completions AS r
    JOIN :run.calls AS c ON c.id = r.call
    JOIN :run.judges AS j ON j.name = c.judge
) AS spent
CROSS JOIN LATERAL (
    -- What was not set aside counts at the mean of what was answered.
    SELECT
        count(*) AS n,
        coalesce(sum(coalesce(a.tokens, spent.tokens / nullif(spent.n, 0))), 0) AS tokens,
        coalesce(sum(coalesce(a.usd, spent.usd / nullif(spent.n, 0))), 0) AS usd
    FROM :run.attempts AS a
    WHERE a.at_risk
) AS lost
CROSS JOIN (
    SELECT count(*) AS n, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd
    FROM :run.attempts
    WHERE state = 'started' AND tokens IS NOT NULL
) AS held

-- name: hold
UPDATE :run.purse
SET
    under_way = under_way + 1,
    held_tokens = held_tokens + cost.tokens,
    held_usd = held_usd + cost.usd
FROM (
    SELECT $1::double precision::numeric AS tokens, $2::double precision::numeric AS usd
) AS cost
WHERE coalesce(calls + under_way + 1 <= most_calls, true)
    AND coalesce(purse.tokens + held_tokens + cost.tokens <= most_tokens, true)
    AND coalesce(purse.usd + held_usd + cost.usd <= most_usd, true)

-- name: purse
SELECT
    most_calls, most_tokens, most_usd, calls, tokens::double precision, usd::double precision,
    under_way, held_tokens::double precision, held_usd::double precision
FROM :run.purse

-- name: set_aside
UPDATE :run.attempts
SET tokens = $2::double precision::numeric, usd = $3::double precision::numeric
WHERE id = $1

-- name: book
UPDATE :run.judges
SET
    next_request = CASE
        WHEN request_s IS NULL THEN next_request
        ELSE greatest(next_request, clock.now - 1) + request_s
    END,
    next_token = CASE
        WHEN token_s IS NULL THEN next_token
        ELSE greatest(next_token, clock.now - 1) + token_s * $2
    END
FROM (SELECT extract(epoch FROM clock_timestamp())::double precision AS now) AS clock
WHERE name = $1
RETURNING greatest(
    0,
    CASE WHEN request_s IS NULL THEN 0 ELSE next_request - request_s - clock.now END,
    CASE WHEN token_s IS NULL THEN 0 ELSE next_token - token_s * $2 - clock.now END
)

-- name: reserve
WITH free AS (
    SELECT o.call, o.attempts + 1 AS number
    FROM :run.open_calls AS o
    WHERE o.judge = $1
        AND o.position > $2
        AND o.session IS NULL
        AND NOT (o.round = $4 AND o.failures >= $5)
    ORDER BY o.position
    LIMIT $3
    FOR UPDATE SKIP LOCKED
),
started AS (
    INSERT INTO :run.attempts (call, number, session, reserved_at)
    SELECT f.call, f.number, $6, $7 FROM free AS f
    RETURNING id, call, number
)
SELECT
    s.id, s.number,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM started AS s
JOIN :run.calls AS c ON c.id = s.call
JOIN :run.judges AS j ON j.name = c.judge
ORDER BY c.position

-- name: start_again
INSERT INTO :run.attempts (call, number, session, reserved_at)
SELECT a.call, a.number + 1, $2, $3
FROM :run.attempts AS a
WHERE a.id = $1
    -- A reply that somebody held for long may have answered the call meanwhile.
    AND NOT EXISTS (
        SELECT 1 FROM :run.completions AS r WHERE r.call = a.call AND r.attempt <> a.id
    )
RETURNING id

-- name: known_attempts
SELECT count(*) FROM :run.attempts WHERE id = ANY ($1::bigint[])

-- name: answered_by_others
SELECT a.id
FROM :run.attempts AS a
JOIN :run.completions AS r ON r.call = a.call
WHERE a.id = ANY ($1::bigint[]) AND r.attempt <> a.id

-- name: orphans
SELECT id FROM :run.attempts WHERE id = ANY ($1::bigint[]) AND state = 'orphaned'

-- name: free_orphans
UPDATE :run.open_calls SET attempt = NULL, session = NULL WHERE attempt = ANY ($1::bigint[])

-- name: supersede
UPDATE :run.attempts AS a
SET state = 'orphaned', sent_at = e.sent_at, ended_at = e.ended_at, at_risk = true
FROM unnest($1::bigint[], $2::double precision[], $3::double precision[])
    AS e (attempt, sent_at, ended_at)
WHERE a.id = e.attempt AND a.state = 'started'

-- name: mark_sent
UPDATE :run.attempts AS a
SET sent_at = m.sent_at
FROM unnest($1::bigint[], $2::double precision[]) AS m (id, sent_at)
WHERE a.id = m.id
    AND a.session = $3
    AND NOT EXISTS (SELECT 1 FROM :run.completions AS r WHERE r.call = a.call)
RETURNING a.id

-- name: complete
INSERT INTO :run.completions (
    call, attempt, sent_at, ended_at, status, body, text, finish_reason, refusal, content_filtered,
    input_tokens, output_tokens, cached_tokens, model, fingerprint, response_id, echoed_seed,
    replayed
)
SELECT
    a.call, e.attempt, e.sent_at, e.ended_at, e.status, e.body, e.text, e.finish_reason, e.refusal,
    e.content_filtered, e.input_tokens, e.output_tokens, e.cached_tokens, e.model, e.fingerprint,
    e.response_id, e.echoed_seed, e.replayed
FROM unnest(
    $1::bigint[], $2::double precision[], $3::double precision[], $4::integer[], $5::bytea[],
    $6::text[], $7::text[], $8::text[], $9::boolean[], $10::bigint[], $11::bigint[],
    $12::bigint[], $13::text[], $14::text[], $15::text[], $16::bigint[], $17::boolean[]
) AS e (
    attempt, sent_at, ended_at, status, body, text, finish_reason, refusal, content_filtered,
    input_tokens, output_tokens, cached_tokens, model, fingerprint, response_id, echoed_seed,
    replayed
)
JOIN :run.attempts AS a ON a.id = e.attempt
-- Whose answer is there first, counts; a call is answered twice where a reply was held for long.
ON CONFLICT (call) DO NOTHING
RETURNING attempt

-- name: add_logprobs
INSERT INTO :run.logprobs (call, tokens)
SELECT a.call, e.tokens
FROM unnest($1::bigint[], $2::text[]) AS e (attempt, tokens)
JOIN :run.attempts AS a ON a.id = e.attempt

-- name: add_unread_fields
INSERT INTO :run.unread_fields (call, field, reason)
SELECT a.call, e.field, e.reason
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS e (attempt, field, reason)
JOIN :run.attempts AS a ON a.id = e.attempt

-- name: add_unread_replies
INSERT INTO :run.unread_replies (attempt, sent_at, ended_at, status, headers, body)
SELECT e.attempt, e.sent_at, e.ended_at, e.status, e.headers, e.body
FROM unnest(
    $1::bigint[], $2::double precision[], $3::double precision[], $4::integer[], $5::text[],
    $6::bytea[]
) AS e (attempt, sent_at, ended_at, status, headers, body)
JOIN :run.attempts AS a ON a.id = e.attempt AND a.state IN ('started', 'orphaned')
WHERE NOT EXISTS (SELECT 1 FROM :run.completions AS r WHERE r.call = a.call)
-- A result of a batch that is fetched once more is the same.
ON CONFLICT (attempt) DO UPDATE SET ended_at = excluded.ended_at

-- name: drop_unread_replies
DELETE FROM :run.unread_replies WHERE attempt = ANY ($1::bigint[])

-- name: take_back_reply
INSERT INTO :run.unread_replies (attempt, sent_at, ended_at, status, headers, body)
SELECT a.id, $3::double precision, $4::double precision, $5::integer, $6::text, $7::bytea
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
WHERE a.id = $1
    AND c.call_id = $2
    AND a.state IN ('started', 'orphaned')
    AND NOT EXISTS (SELECT 1 FROM :run.completions AS r WHERE r.call = a.call)
ON CONFLICT (attempt) DO NOTHING

-- name: take_unread_replies
-- A call whose reply nobody has read stays with the session that got it; when that has ended, the
-- next one takes it over. One that was given up as an orphan is taken over while nobody asks again.
WITH taken AS (
    UPDATE :run.open_calls AS o
    SET session = $2, attempt = u.attempt
    FROM :run.unread_replies AS u
    JOIN :run.attempts AS a ON a.id = u.attempt
    WHERE o.call = a.call
        AND o.judge = $1
        AND (o.attempt IS NULL OR o.attempt = u.attempt)
        AND (
            o.session IS NULL
            OR o.session = $2
            OR EXISTS (SELECT 1 FROM :run.sessions AS s WHERE s.id = o.session AND s.ended_at IS NOT NULL)
        )
    RETURNING u.attempt
)
SELECT
    u.sent_at, u.ended_at, u.status, u.headers, u.body,
    a.id, a.number,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM taken AS t
JOIN :run.unread_replies AS u ON u.attempt = t.attempt
JOIN :run.attempts AS a ON a.id = u.attempt
JOIN :run.calls AS c ON c.id = a.call
JOIN :run.judges AS j ON j.name = c.judge
ORDER BY c.position

-- name: unread_attempts
SELECT u.attempt FROM :run.unread_replies AS u ORDER BY u.attempt

-- name: unread_fields
SELECT c.judge, f.field, f.reason, count(*)
FROM :run.unread_fields AS f
JOIN :run.calls AS c ON c.id = f.call
GROUP BY 1, 2, 3
ORDER BY 4 DESC, 1, 2, 3

-- name: archived_unread_fields
SELECT r.attempt, f.field, f.reason
FROM :run.unread_fields AS f
JOIN :run.completions AS r ON r.call = f.call
ORDER BY r.attempt, f.field

-- name: archived_unread_replies
SELECT u.attempt, u.sent_at, u.ended_at, u.status, u.headers, u.body
FROM :run.unread_replies AS u
ORDER BY u.attempt

-- name: archived_logprobs
SELECT r.attempt, l.tokens
FROM :run.logprobs AS l
JOIN :run.completions AS r ON r.call = l.call
ORDER BY r.attempt

-- name: fail
UPDATE :run.attempts AS a
SET
    state = e.state, sent_at = e.sent_at, ended_at = e.ended_at, status = e.status, kind = e.kind,
    detail = e.detail, at_risk = e.at_risk
FROM unnest(
    $1::text[], $2::double precision[], $3::double precision[], $4::integer[], $5::text[],
    $6::text[], $7::boolean[], $8::bigint[]
) AS e (state, sent_at, ended_at, status, kind, detail, at_risk, attempt)
WHERE a.id = e.attempt AND a.state <> 'orphaned'

-- name: unsend
UPDATE :run.attempts AS a
SET state = 'unsent', ended_at = e.ended_at, sent_at = NULL
FROM unnest($1::bigint[], $2::double precision[]) AS e (attempt, ended_at)
WHERE a.id = e.attempt

-- name: add_verdicts
INSERT INTO :run.verdicts (call, parser, verdict, displayed, reason)
SELECT c.id, v.parser, v.verdict, v.displayed, v.reason
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS v (call_id, parser, verdict, displayed, reason)
JOIN :run.calls AS c ON c.call_id = v.call_id
ON CONFLICT (call, parser) DO NOTHING

-- name: add_criterion_verdicts
INSERT INTO :run.criterion_verdicts (call, parser, criterion, verdict, displayed, reason)
SELECT c.id, v.parser, v.criterion, v.verdict, v.displayed, v.reason
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS v (call_id, parser, criterion, verdict, displayed, reason)
JOIN :run.calls AS c ON c.call_id = v.call_id
ON CONFLICT (call, parser, criterion) DO NOTHING

-- name: count_calls
SELECT
    (SELECT count(*) FROM :run.calls WHERE $1::text IS NULL OR judge = $1),
    count(*),
    coalesce(sum(r.input_tokens), 0)::bigint,
    coalesce(sum(r.output_tokens), 0)::bigint,
    coalesce(sum(r.cached_tokens), 0)::bigint,
    count(*) FILTER (WHERE r.input_tokens IS NULL OR r.output_tokens IS NULL)
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
WHERE $1::text IS NULL OR c.judge = $1

-- name: count_attempts
SELECT
    count(*) FILTER (WHERE a.state = 'started'),
    count(*) FILTER (WHERE a.state = 'failed'),
    count(*) FILTER (WHERE a.state = 'orphaned'),
    count(*) FILTER (WHERE a.state = 'refused'),
    count(*) FILTER (WHERE a.state = 'unsent'),
    count(*) FILTER (WHERE a.at_risk)
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
WHERE $1::text IS NULL OR c.judge = $1

-- name: count_flagged
SELECT count(DISTINCT f.call)
FROM :run.flags AS f
JOIN :run.calls AS c ON c.id = f.call
WHERE ($1::text IS NULL OR c.judge = $1)
    AND NOT (f.kind = 'model' AND strpos($2::text, chr(30) || c.judge || chr(31) || f.detail || chr(30)) > 0)

-- name: judge_calls
SELECT
    j.name,
    count(c.id),
    count(r.call),
    count(*) FILTER (WHERE (
        SELECT count(*) FROM :run.attempts AS a WHERE a.call = c.id AND a.state <> 'unsent'
    ) > 1)
FROM :run.judges AS j
LEFT JOIN :run.calls AS c ON c.judge = j.name
LEFT JOIN :run.completions AS r ON r.call = c.id
GROUP BY j.name
ORDER BY j.name COLLATE "C"

-- name: judge_shares
SELECT c.judge, count(*), count(r.call)
FROM :run.calls AS c
LEFT JOIN :run.completions AS r ON r.call = c.id
GROUP BY c.judge
ORDER BY c.judge COLLATE "C"

-- name: finish_reasons
SELECT c.judge, coalesce(r.finish_reason, 'not said'), count(*)
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
GROUP BY 1, 2

-- name: failures
SELECT c.judge, coalesce(a.kind, a.state), count(*)
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
WHERE a.state IN ('failed', 'refused', 'orphaned')
GROUP BY 1, 2

-- name: failure_words
SELECT c.judge, a.detail, count(*)
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
WHERE a.state IN ('failed', 'refused') AND a.detail <> ''
GROUP BY 1, 2
ORDER BY 3 DESC, max(a.id) DESC

-- name: unreadable
SELECT c.judge, k.criterion, v.parser, substr(trim(r.text), 1, 120), count(*)
FROM :run.verdicts AS v
JOIN :run.completions AS r ON r.call = v.call
JOIN :run.calls AS c ON c.id = v.call
LEFT JOIN :run.criterion_verdicts AS k ON k.call = v.call AND k.parser = v.parser
WHERE coalesce(k.reason, v.reason) IN ('no label', 'unknown label')
GROUP BY 1, 2, 3, 4
ORDER BY 5 DESC, 4, 2

-- name: returned_models
SELECT c.judge, j.model, r.model
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
JOIN :run.judges AS j ON j.name = c.judge
WHERE r.model IS NOT NULL AND j.model IS NOT NULL
GROUP BY 1, 2, 3

-- name: flag_kinds
SELECT c.judge, f.kind, count(*)
FROM :run.flags AS f
JOIN :run.calls AS c ON c.id = f.call
WHERE NOT (f.kind = 'model' AND strpos($1::text, chr(30) || c.judge || chr(31) || f.detail || chr(30)) > 0)
GROUP BY 1, 2

-- name: models
SELECT c.judge, coalesce(r.model, 'not said'), count(*)
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
GROUP BY 1, 2

-- name: fingerprints
SELECT c.judge, r.fingerprint, count(*)
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
WHERE r.fingerprint IS NOT NULL
GROUP BY 1, 2

-- name: verdict_counts
SELECT c.judge, v.parser, v.verdict, v.reason, count(*)
FROM :run.verdicts AS v
JOIN :run.calls AS c ON c.id = v.call
GROUP BY 1, 2, 3, 4
ORDER BY c.judge COLLATE "C", v.parser COLLATE "C", v.verdict COLLATE "C", v.reason COLLATE "C"

-- name: calls
SELECT
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM :run.calls AS c
JOIN :run.judges AS j ON j.name = c.judge
ORDER BY c.position, c.call_id COLLATE "C"

-- name: attempts
SELECT
    a.id, c.call_id, a.number, a.session, a.state, a.reserved_at, a.sent_at, a.ended_at, a.status,
    a.kind, a.detail
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
ORDER BY a.id

-- name: completions
SELECT
    r.attempt,
    (SELECT count(*) FROM :run.attempts AS a WHERE a.call = r.call AND a.state <> 'unsent'),
    r.sent_at, r.ended_at, r.status, r.body, r.text, r.finish_reason, r.refusal,
    r.content_filtered, r.input_tokens, r.output_tokens, r.cached_tokens, r.model, r.fingerprint,
    r.response_id, r.echoed_seed, r.replayed,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
JOIN :run.judges AS j ON j.name = c.judge
ORDER BY c.judge COLLATE "C", c.position

-- name: replies
SELECT
    c.call_id, c.layer, c.judge, c.item, c.prompt, c."order", c.repeat, c.seed, r.response_id,
    r.text, r.refusal, r.content_filtered, c.date
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
WHERE $1::text IS NULL OR c.layer = $1
ORDER BY r.call

-- name: verdicts
SELECT
    k.criterion, k.verdict, k.displayed, k.reason,
    v.parser, v.verdict, v.displayed, v.reason, c.call_id
FROM :run.verdicts AS v
JOIN :run.calls AS c ON c.id = v.call
LEFT JOIN :run.criterion_verdicts AS k ON k.call = v.call AND k.parser = v.parser
WHERE $1::text IS NULL OR v.parser = $1
ORDER BY
    c.judge COLLATE "C", c.position, v.parser COLLATE "C", k.criterion COLLATE "C"

-- name: judged
SELECT
    k.criterion, k.verdict, k.displayed, k.reason,
    v.parser, v.verdict, v.displayed, v.reason,
    (SELECT count(*) FROM :run.attempts AS a WHERE a.call = r.call AND a.state <> 'unsent'),
    r.sent_at, r.ended_at, r.finish_reason, r.input_tokens, r.output_tokens, r.cached_tokens,
    l.tokens, CASE WHEN l.tokens IS NOT NULL THEN r.text END, r.refusal, r.content_filtered,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM :run.verdicts AS v
JOIN :run.completions AS r ON r.call = v.call
LEFT JOIN :run.logprobs AS l ON l.call = v.call
JOIN :run.calls AS c ON c.id = v.call
JOIN :run.judges AS j ON j.name = c.judge
LEFT JOIN :run.criterion_verdicts AS k ON k.call = v.call AND k.parser = v.parser
ORDER BY
    c.judge COLLATE "C", c.layer COLLATE "C", c.date COLLATE "C" NULLS FIRST, c.item COLLATE "C",
    c."order" COLLATE "C", c.repeat, c.prompt COLLATE "C", v.parser COLLATE "C",
    k.criterion COLLATE "C"

-- name: unjudged
SELECT c.call_id, c."order", r.text, r.finish_reason, r.refusal, r.content_filtered
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
WHERE c.judge = $1
    AND NOT EXISTS (SELECT 1 FROM :run.verdicts AS v WHERE v.call = r.call AND v.parser = $2)
ORDER BY c.position

-- name: flags
SELECT c.call_id, f.kind, f.detail
FROM :run.flags AS f
JOIN :run.calls AS c ON c.id = f.call
WHERE NOT (f.kind = 'model' AND strpos($1::text, chr(30) || c.judge || chr(31) || f.detail || chr(30)) > 0)
ORDER BY c.position, f.kind COLLATE "C"

-- name: loose_ends
SELECT 'calls that are neither open nor completed', count(*)
FROM :run.calls AS c
WHERE NOT EXISTS (SELECT 1 FROM :run.completions AS r WHERE r.call = c.id)
    AND NOT EXISTS (SELECT 1 FROM :run.open_calls AS o WHERE o.call = c.id)
UNION ALL
SELECT 'calls that are both open and completed', count(*)
FROM :run.open_calls AS o
JOIN :run.completions AS r ON r.call = o.call
UNION ALL
SELECT 'attempts under way that hold no call', count(*)
FROM :run.attempts AS a
WHERE a.state = 'started'
    AND NOT EXISTS (SELECT 1 FROM :run.open_calls AS o WHERE o.attempt = a.id)
UNION ALL
SELECT 'completions without a completed attempt', count(*)
FROM :run.completions AS r
JOIN :run.attempts AS a ON a.id = r.attempt
WHERE a.state <> 'completed'

-- name: archived_sessions
SELECT
    id, pid, host, version, extract(epoch FROM started_at)::double precision,
    extract(epoch FROM ended_at)::double precision
FROM :run.sessions
ORDER BY id

-- name: archived_judges
SELECT name, model, judge_sha256 FROM :run.judges ORDER BY name COLLATE "C"

-- name: archived_attempts
SELECT
    a.id, c.call_id, a.number, a.session, a.state, a.reserved_at, a.sent_at, a.ended_at, a.status,
    a.kind, a.detail, a.at_risk, a.batch
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
ORDER BY a.id

-- name: archived_batches
SELECT id, uid, judge, state, provider_id, prepared_at, submitted_at, ended_at, detail
FROM :run.batches
ORDER BY id

-- name: archived_completions
SELECT
    r.attempt, r.sent_at, r.ended_at, r.status, r.body, r.text, r.finish_reason, r.refusal,
    r.content_filtered, r.input_tokens, r.output_tokens, r.cached_tokens, r.model, r.fingerprint,
    r.response_id, r.echoed_seed, r.replayed
FROM :run.completions AS r
JOIN :run.calls AS c ON c.id = r.call
ORDER BY c.position, c.call_id COLLATE "C"

-- name: archived_verdicts
SELECT c.call_id, v.parser, v.verdict, v.displayed, v.reason
FROM :run.verdicts AS v
JOIN :run.calls AS c ON c.id = v.call
ORDER BY c.position, c.call_id COLLATE "C", v.parser COLLATE "C"

-- name: archived_criterion_verdicts
SELECT c.call_id, k.parser, k.criterion, k.verdict, k.displayed, k.reason
FROM :run.criterion_verdicts AS k
JOIN :run.calls AS c ON c.id = k.call
ORDER BY c.position, c.call_id COLLATE "C", k.parser COLLATE "C", k.criterion COLLATE "C"

-- name: prepare_batch
INSERT INTO :run.batches (uid, judge, prepared_at, session) VALUES ($1, $2, $3, $4) RETURNING id

-- name: join_batch
UPDATE :run.attempts SET batch = $1 WHERE id = ANY($2::bigint[])

-- name: note_batch
UPDATE :run.batches
SET
    state = $2::text,
    provider_id = coalesce($3::text, provider_id),
    submitted_at = CASE
        WHEN $2::text = 'submitting' THEN $4::double precision ELSE submitted_at
    END,
    ended_at = CASE
        WHEN $2::text IN ('ended', 'orphaned', 'withdrawn') THEN $4::double precision
    END,
    detail = coalesce($5::text, detail)
WHERE id = $1

-- name: orphan_batch
UPDATE :run.attempts SET state = 'orphaned', ended_at = $2, at_risk = true
WHERE batch = $1 AND state = 'started'

-- name: unsend_batch
UPDATE :run.attempts SET state = 'unsent', ended_at = $2 WHERE batch = $1 AND state = 'started'

-- name: take_batches
WITH free AS (
    SELECT b.id
    FROM :run.batches AS b
    LEFT JOIN :run.sessions AS s ON s.id = b.session
    WHERE b.judge = $1
        AND b.state IN ('submitting', 'submitted')
        AND (b.session IS NULL OR b.session = $2 OR s.ended_at IS NOT NULL)
    ORDER BY b.id
    FOR UPDATE OF b SKIP LOCKED
),
held AS (
    UPDATE :run.open_calls AS o
    SET session = $2
    FROM :run.attempts AS a
    WHERE o.attempt = a.id AND a.batch IN (SELECT id FROM free)
)
UPDATE :run.batches AS b
SET session = $2
FROM free AS f
WHERE b.id = f.id
RETURNING b.id, b.uid, b.provider_id, b.submitted_at, b.detail

-- name: batch_attempts
SELECT
    a.id, a.number,
    c.call_id, c.judge, c.layer, c.item, c.stratum, c.prompt, c."order", c.repeat, c.seed,
    c.position, c.request_sha256, c.payload_sha256, j.judge_sha256, c.gold, c.date
FROM :run.attempts AS a
JOIN :run.calls AS c ON c.id = a.call
JOIN :run.judges AS j ON j.name = c.judge
WHERE a.batch = $1 AND a.state = 'started'
ORDER BY a.id

-- name: batches
SELECT
    b.id, b.uid, b.judge, b.state, b.provider_id, b.prepared_at, b.submitted_at, b.ended_at,
    b.detail, (SELECT count(*) FROM :run.attempts AS a WHERE a.batch = b.id)
FROM :run.batches AS b
ORDER BY b.id
