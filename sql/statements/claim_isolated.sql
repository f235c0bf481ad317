-- Takes one due event of those that must run by themselves: the one with the fewest deaths, and none whose last run a worker has still
-- to judge.
-- A worker sends it as the first statement of the transaction of an isolated event, which keeps the row locked until it ends.
-- Returns the event, or no row. read_bodies reads what the inbox has of it.
--
-- :contract, :lane      as in claim
-- :died_beside_others   the last_error of an event whose process died while other batches ran beside it: no batch may join it again
WITH due AS MATERIALIZED (
    SELECT q.event_id, q.attempts, q.run, q.deaths, q.last_error
    FROM appstore.inbox_queue AS q
    WHERE q.is_isolated AND q.run_at <= statement_timestamp()
      AND NOT EXISTS (SELECT FROM appstore.batch_markers AS m WHERE m.is_alone AND m.event_ids[1] = q.event_id)
      AND (SELECT f.contract FROM appstore.fence AS f) = :contract::integer
    ORDER BY q.deaths, q.run_at, q.event_id
    LIMIT 1
    FOR UPDATE OF q SKIP LOCKED
)
SELECT due.event_id, due.attempts, due.run, due.deaths,
       due.last_error IS NOT DISTINCT FROM :died_beside_others::text AS has_to_stay_alone,
       clock_timestamp() AS claimed_at, (SELECT pg_advisory_xact_lock(:lane::bigint)) AS lane
FROM due;
