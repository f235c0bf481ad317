-- Reads the queue's row of an event.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row, as JSON, with is_due for whether its next attempt is due; none when the event is settled.
SELECT row_to_json(q)::text AS row, run_at <= statement_timestamp() AS is_due
FROM appstore.inbox_queue AS q
WHERE event_id = :event_id::bigint;
