-- Asks for a repair of all events that meet conditions, whose steps workers take.
-- The console, and appstore-inbox requeue and discard, send it when the events were counted.
-- Returns one row: the number of the repair, null where no event meets the conditions.
SELECT r.repair_id
FROM appstore.begin_repair(:action::text, jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), :note::text,
                           :max_events::bigint) AS r;
