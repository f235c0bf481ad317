-- Requeues up to 1,000 events that a filter selects.
-- appstore-inbox requeue sends it.
-- Returns the number of events.
SELECT appstore.requeue_events(f.result, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id,
                               f.received_from, f.received_before, note => :note::text /* null */)
FROM jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb) AS f;
