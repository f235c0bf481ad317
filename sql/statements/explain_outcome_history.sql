-- Reads the outcomes that repairs have replaced.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each, as JSON, first run first.
SELECT source, received_at, row_to_json(h)::text AS row
FROM appstore.outcome_history AS h
WHERE event_id = :event_id::bigint
ORDER BY run;
