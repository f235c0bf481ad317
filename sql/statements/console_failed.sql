-- Lists the events that failed last.
-- The console's page Attention sends it, as appstore_viewer.
-- Returns at most :limit rows.
SELECT f.event_id, f.settled_at, f.reason, f.notification_type, f.subtype, f.environment, f.last_error
FROM appstore.failed AS f
ORDER BY f.settled_at DESC, f.event_id DESC LIMIT :limit::integer;
