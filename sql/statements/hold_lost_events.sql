-- Locks the events of lost batches that no other transaction holds.
-- A worker sends it in the transaction in which it judges lost batches.
-- Returns a row for each of them, in the order of the ids, without the body.
--
-- The binds are those of read_bodies.
WITH held AS MATERIALIZED (
    SELECT q.event_id, q.attempts, q.run, q.deaths
    FROM appstore.inbox_queue AS q
    WHERE q.event_id = ANY (:event_ids::bigint[])
    ORDER BY q.event_id
    FOR UPDATE SKIP LOCKED
)
SELECT held.event_id, held.attempts, held.run, held.deaths, false AS has_to_stay_alone, statement_timestamp() AS claimed_at,
       i.source, i.received_at
FROM held
CROSS JOIN LATERAL ( -- a look-up for each, whatever the planner estimates
    SELECT i.source, i.received_at FROM appstore.inbox AS i
    WHERE i.event_id = held.event_id AND i.event_id >= :first_event_id::bigint AND i.event_id <= :last_event_id::bigint
    OFFSET 0
) AS i
ORDER BY held.event_id;
