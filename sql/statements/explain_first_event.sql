-- Reads which event brought a notification first.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row or none.
SELECT first_event_id
FROM appstore.seen_notifications
WHERE environment::text = :environment::text AND notification_uuid = :notification_uuid::uuid;
