-- Takes the events of a batch again whose merge failed and was rolled back, without those that another transaction holds by now or that
-- another worker has settled, delayed or isolated meanwhile.
-- A worker sends it as the first statement of the transaction in which it looks for the events that the merge fails for.
-- Returns the ids of the events that it has, in the order of the ids.
--
-- :contract, :lane                    as in claim
-- :event_ids                          the events of the batch
-- :statement_timeout, :lock_timeout   as in read_bodies
WITH due AS MATERIALIZED (
    SELECT q.event_id
    FROM appstore.inbox_queue AS q
    WHERE q.event_id = ANY (:event_ids::bigint[]) AND q.run_at <= statement_timestamp() AND NOT q.is_isolated
      AND (SELECT f.contract FROM appstore.fence AS f) = :contract::integer
    ORDER BY q.event_id
    FOR UPDATE SKIP LOCKED
)
SELECT due.event_id,
       (SELECT pg_advisory_xact_lock(:lane::bigint)) AS lane,
       (SELECT set_config('statement_timeout', :statement_timeout::text, true)) AS statement_timeout,
       (SELECT set_config('lock_timeout', :lock_timeout::text, true)) AS lock_timeout
FROM due;
