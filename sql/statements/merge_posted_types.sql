-- Records the types of transactions in posted receipts whose transactions come from Apple's answer.
-- A worker sends it in the transaction of a batch, one element of each array for each transaction.
-- Returns no rows.
INSERT INTO appstore.posted_types AS p (environment, transaction_id, product_type)
SELECT u.*
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment, unnest(:transaction_ids::text[] COLLATE "C") AS transaction_id,
           unnest(:product_types::text[] COLLATE "C") AS product_type
) AS u
ORDER BY u.environment, u.transaction_id
ON CONFLICT (environment, transaction_id) DO UPDATE SET product_type = excluded.product_type
WHERE excluded.product_type > p.product_type;
