-- Discards up to 1,000 events that a filter selects and that were not applied.
-- appstore-inbox discard sends it.
-- Returns the number of events.
SELECT appstore.discard_events(:note::text /* null */, f.result, f.reason, f.notification_type, f.subtype, f.environment,
                               f.bundle_id, f.received_from, f.received_before)
FROM jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb) AS f;
