-- Reads the outcome of an event.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row, with the outcome as JSON, or none while the event has no outcome.
SELECT source, received_at, row_to_json(o)::text AS row FROM appstore.outcomes AS o WHERE event_id = :event_id::bigint;
