-- Counts all events that a repair would select.
-- appstore-inbox requeue and discard send it before a repair by conditions.
-- Returns one number.
SELECT CASE :action::text
           WHEN 'requeue' THEN appstore.requeue_events(
               f.result, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id, f.received_from, f.received_before,
               max_events => NULL, dry_run => true)
           ELSE appstore.discard_events(
               '-', f.result, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id, f.received_from, f.received_before,
               max_events => NULL, dry_run => true) END
FROM jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb) AS f;
