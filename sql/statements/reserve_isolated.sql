-- Chooses one due event of those that must run by themselves, the one with the fewest deaths, and writes its crash marker: if the worker
-- dies while it runs the event, this event is the cause.
-- A worker sends it outside a transaction, and runs the event in the next one (claim_event). The marker is on the disk before the event
-- runs, since the event may take the machine with it. An event with such a marker is not chosen again before recover_lost_batches has
-- judged it.
-- Returns the event's id, or no row.
--
-- :contract, :lane   as in claim
WITH due AS MATERIALIZED (
    SELECT q.event_id
    FROM appstore.inbox_queue AS q
    WHERE q.is_isolated AND q.run_at <= statement_timestamp()
      AND NOT EXISTS (SELECT FROM appstore.batch_markers AS m WHERE m.is_alone AND m.event_ids[1] = q.event_id)
      AND (SELECT f.contract FROM appstore.fence AS f) = :contract::integer
    ORDER BY q.deaths, q.run_at, q.event_id
    LIMIT 1
    FOR UPDATE OF q SKIP LOCKED
)
INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at)
SELECT :lane::bigint, ARRAY[due.event_id], true, clock_timestamp() FROM due
RETURNING event_ids[1] AS event_id;
