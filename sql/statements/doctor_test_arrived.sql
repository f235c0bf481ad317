-- Looks for the test notification that Apple was asked to send.
-- appstore-inbox doctor --test-notification sends it, as appstore_viewer or appstore_operator, again and again while it waits.
-- Returns the event, or no row while a worker has verified none.
SELECT s.first_event_id AS event_id FROM appstore.seen_notifications AS s
WHERE s.notification_uuid = :notification_uuid::uuid AND s.environment = :environment::appstore.environment;
