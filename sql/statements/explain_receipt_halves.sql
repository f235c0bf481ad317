-- Reads the versions of the receipt halves of transactions.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each known transaction; the version is null when no receipt holds it.
SELECT transaction_id AS id, receipt_date AS signed_date, receipt_hash AS hash
FROM appstore.transactions
WHERE environment::text = :environment::text AND transaction_id = ANY (:transaction_ids::text[]);
