-- What may have been answered counts as paid: an attempt at risk is a call of the budget, and one
-- that was orphaned with its batch has used up a try of its call, as a failure does.
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
            count(*) AS n,
            count(*) FILTER (WHERE at_risk) AS lost,
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
