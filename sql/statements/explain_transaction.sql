-- Reads the register of a transaction.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row or none: the register as JSON, and the version of its JWS half, which is null when only receipts hold the transaction.
--
-- Here and in the other statements of an explanation, environment is compared as text: a rejected event may name one that is neither
-- Production nor Sandbox, which the type does not hold.
SELECT signed_date, payload_hash AS hash, row_to_json(t)::text AS row
FROM appstore.transactions AS t
WHERE environment::text = :environment::text AND transaction_id = :transaction_id::text;
