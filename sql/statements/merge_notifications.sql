-- Records which event brought each notificationUUID first.
-- A worker sends it in the transaction of a batch, after merge_contracts, one element of each array for each notification. A copy in another
-- transaction makes it wait for the end of that transaction.
-- Returns environment, notification_uuid and first_event_id of the notifications that are new. find_first_events finds the others.
--
-- The statement does not return the others itself: its snapshot may be older than a row that the insertion conflicted with, and the look-up
-- would cost every new notification an index scan.
INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
SELECT u.environment, u.notification_uuid, u.event_id
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:notification_uuids::uuid[]) AS notification_uuid,
           unnest(:event_ids::bigint[]) AS event_id
) AS u
ORDER BY u.environment, u.notification_uuid
ON CONFLICT (notification_uuid, environment) DO NOTHING
RETURNING environment::text, notification_uuid, first_event_id;
