-- Records what Apple asked and decided about refunds: each notification as it was signed first, because Apple may sign a retry anew.
-- A worker sends it in the transaction of a batch, one element of each array for each notification.
-- Returns environment and notification_uuid of the notifications that are new or changed.
--
-- The columns after signed_date decide between copies of one instant, so that the result is independent of the order of arrival.
INSERT INTO appstore.refund_requests AS r (
    environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date, is_advanced_commerce
)
SELECT u.*
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:notification_uuids::uuid[]) AS notification_uuid,
           unnest(:kinds::text[]) AS kind, unnest(:transaction_ids::text[]) AS transaction_id,
           unnest(:original_transaction_ids::text[]) AS original_transaction_id, unnest(:reasons::text[]) AS reason,
           unnest(:signed_dates::timestamptz[]) AS signed_date, unnest(:are_advanced_commerce::boolean[]) AS is_advanced_commerce
) AS u
ORDER BY u.notification_uuid, u.environment
ON CONFLICT (notification_uuid, environment) DO UPDATE
SET kind = excluded.kind, transaction_id = excluded.transaction_id, original_transaction_id = excluded.original_transaction_id,
    reason = excluded.reason, signed_date = excluded.signed_date, is_advanced_commerce = excluded.is_advanced_commerce,
    left_transaction_id = CASE WHEN r.transaction_id <> excluded.transaction_id THEN r.transaction_id ELSE r.left_transaction_id END
WHERE (excluded.signed_date, excluded.kind, excluded.transaction_id, excluded.original_transaction_id, coalesce(excluded.reason, ''),
       excluded.is_advanced_commerce)
      < (r.signed_date, r.kind, r.transaction_id, r.original_transaction_id, coalesce(r.reason, ''), r.is_advanced_commerce)
RETURNING r.environment::text, r.notification_uuid;
