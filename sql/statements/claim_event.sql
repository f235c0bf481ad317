-- Takes one due event, unless another transaction holds it.
-- A worker sends it as the first statement of the transaction in which an event runs by itself, or in which its failure is recorded.
-- Returns the event without its body, or no row.
--
-- :contract, :lane   as in claim
-- :event_id          the event
WITH held AS MATERIALIZED (
    SELECT q.event_id, q.attempts, q.run, q.blocked_since
    FROM appstore.inbox_queue AS q
    WHERE q.event_id = :event_id::bigint AND q.run_at <= statement_timestamp()
      AND (SELECT f.contract FROM appstore.fence AS f) = :contract::integer
    FOR UPDATE SKIP LOCKED
)
SELECT held.event_id, held.attempts, held.run, held.blocked_since, clock_timestamp() AS claimed_at, i.source, i.received_at,
       (SELECT pg_advisory_xact_lock(:lane::bigint)) AS lane
FROM held
JOIN appstore.inbox AS i ON i.event_id = held.event_id AND i.event_id = :event_id::bigint;
