-- Lists the events that failed last.
-- The console's page Attention sends it, as appstore_viewer.
-- Returns at most :limit rows.
SELECT e.event_id, e.settled_at, e.reason, e.notification_type, e.subtype, e.environment, o.last_error
FROM appstore.find_events(jsonb_populate_record(NULL::appstore.repair_filter, '{"result": "failed"}'), max_rows => :limit::integer) AS e
CROSS JOIN LATERAL (SELECT o.last_error FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0) AS o
ORDER BY e.settled_at DESC, e.event_id DESC;
