-- Asks for a repair in steps.
-- The console sends it.
-- Returns the number of the repair.
SELECT appstore.begin_repair(:action::text, jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), :note::text /* null */,
                             :expected::bigint) AS repair_id;
