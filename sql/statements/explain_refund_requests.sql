-- Reads what Apple asked and decided about refunds of a transaction.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each notification, as JSON, earliest first.
SELECT row_to_json(r)::text AS row
FROM appstore.refund_requests AS r
WHERE environment::text = :environment::text AND transaction_id = :transaction_id::text
ORDER BY signed_date, notification_uuid;
