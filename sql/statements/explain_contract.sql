-- Reads the derived state of a contract.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row, as JSON, or none.
SELECT row_to_json(d)::text AS row
FROM appstore.contracts AS c
CROSS JOIN LATERAL (
    SELECT c.environment, c.original_transaction_id, c.user_id, c.owner_since, c.is_contested, c.bundle_id, c.product_id, c.product_type,
           c.status, c.will_renew, c.started_at, c.current_transaction_id, c.current_period_start, c.current_period_end, c.revoked_at,
           c.access_until
) AS d
WHERE c.environment::text = :environment::text AND c.original_transaction_id = :original_transaction_id::text;
