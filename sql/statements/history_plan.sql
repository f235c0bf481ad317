-- Makes the windows of Apple's notification history that are due.
-- A worker that has keys sends it every few seconds.
-- Returns one row: how many windows it made.
SELECT appstore.plan_history(:bundle_ids::text[], :environments::appstore.environment[]) AS windows;
