-- Reads the client posts of transactions of a contract, or of receipts that hold it, with their users.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each, as JSON, in the order of arrival.
SELECT row_to_json(p)::text AS row
FROM appstore.client_posts AS p
WHERE environment::text = :environment::text AND original_transaction_id = :original_transaction_id::text
ORDER BY received_at, event_id, transaction_id;
