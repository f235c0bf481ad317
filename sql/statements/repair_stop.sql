-- Ends a repair after its step in flight.
-- The console sends it.
-- Returns false where it had ended already; an unknown repair is an error.
SELECT appstore.stop_repair(:repair_id::bigint, :note::text) AS stopped;
