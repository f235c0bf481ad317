-- Counts the events that a repair would take, by result, at most :at_most; all where that is null.
-- The console, and appstore-inbox requeue and discard, send it before a repair by conditions.
-- Returns a row for each result.
SELECT c.result::text AS result, c.events
FROM appstore.count_repair(:action::text, jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), :at_most::bigint) AS c;
