-- Reads the owners of a contract over time.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each claim, as JSON, the one that counts first.
SELECT row_to_json(c)::text AS row
FROM appstore.ownership_claims AS c
WHERE environment::text = :environment::text AND original_transaction_id = :original_transaction_id::text
ORDER BY effective_at DESC, kind DESC, source_id DESC;
