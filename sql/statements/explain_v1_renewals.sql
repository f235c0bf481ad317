-- Reads the registers of Notifications V1 and verifyReceipt for the renewals of contracts, in any app.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each register: its key, its version and the register as JSON.
SELECT original_transaction_id AS id, bundle_id, stated_at AS signed_date, fact_hash AS hash, row_to_json(l)::text AS row
FROM appstore.v1_renewals AS l
WHERE environment::text = :environment::text AND original_transaction_id = ANY (:original_transaction_ids::text[])
ORDER BY original_transaction_id, bundle_id;
