-- Counts by the minute which events arrived and were settled in the last three hours, and how long they took. Events without outcome arrived,
-- too. Of more than 10,000 events with outcome, or without, it counts the latest.
-- The console's page Overview sends it, as appstore_viewer.
-- Returns a row for each minute, oldest first, from the first one of which all events were counted; delays are in milliseconds.
WITH latest AS MATERIALIZED (
    SELECT o.received_at, o.settled_at, extract(epoch FROM o.settled_at - o.received_at)::float8 AS delay
    FROM appstore.outcomes AS o WHERE o.settled_at > statement_timestamp() - interval '3 hours'
    ORDER BY o.settled_at DESC, o.event_id DESC LIMIT 10000
), waiting AS MATERIALIZED (
    SELECT i.received_at
    FROM (SELECT q.event_id FROM appstore.inbox_queue AS q ORDER BY q.event_id DESC LIMIT 10000) AS q
    CROSS JOIN LATERAL (
        -- The condition on state leaves out the outcomes, whose partitions would cost more than the look-up.
        SELECT i.received_at FROM appstore.inbox_status AS i WHERE i.event_id = q.event_id AND i.state IN ('ready', 'waiting') LIMIT 1
    ) AS i
    WHERE i.received_at > statement_timestamp() - interval '3 hours'
), counted AS MATERIALIZED (
    SELECT greatest(date_trunc('minute', statement_timestamp()) - interval '3 hours',
                    CASE WHEN count(*) = 10000 THEN date_trunc('minute', min(l.settled_at)) END,
                    (SELECT date_trunc('minute', min(w.received_at)) FROM waiting AS w HAVING count(*) = 10000)) + interval '1 minute' AS since,
           percentile_disc('{0.5, 0.99}'::float8[]) WITHIN GROUP (ORDER BY l.delay) AS delays
    FROM latest AS l
), arrived AS (
    SELECT date_trunc('minute', a.received_at) AS minute, count(*) AS events
    FROM (SELECT l.received_at FROM latest AS l UNION ALL SELECT w.received_at FROM waiting AS w) AS a GROUP BY 1
), settled AS (
    SELECT date_trunc('minute', l.settled_at) AS minute, count(*) AS events FROM latest AS l GROUP BY 1
)
SELECT m.minute, coalesce(a.events, 0) AS arrived, coalesce(s.events, 0) AS settled,
       c.delays[1] * 1000 AS p50, c.delays[2] * 1000 AS p99
FROM counted AS c
CROSS JOIN LATERAL generate_series(c.since, date_trunc('minute', statement_timestamp()), '1 minute') AS m (minute)
LEFT JOIN arrived AS a ON a.minute = m.minute
LEFT JOIN settled AS s ON s.minute = m.minute
ORDER BY m.minute;
