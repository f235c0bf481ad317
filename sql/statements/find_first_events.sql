-- Finds the event that brought each of these notifications first.
-- A worker sends it in the transaction of a batch, after merge_notifications, for the notifications that were not new.
-- Returns environment, notification_uuid and first_event_id of those that are recorded.
SELECT n.environment::text, n.notification_uuid, n.first_event_id
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment, unnest(:notification_uuids::uuid[]) AS notification_uuid
) AS u
CROSS JOIN LATERAL ( -- OFFSET 0 pins an index lookup for each notification
    SELECT n.environment, n.notification_uuid, n.first_event_id FROM appstore.seen_notifications AS n
    WHERE n.notification_uuid = u.notification_uuid AND n.environment = u.environment OFFSET 0
) AS n;
