-- Counts the events that a repair would take, up to 10,001, by result.
-- The console sends it before it asks for a confirmation, and after that.
-- Returns a row for each result.
SELECT c.result::text AS result, c.events
FROM appstore.count_repair(:action::text, jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), 10001) AS c;
