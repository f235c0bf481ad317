-- Gives transactions of which no JWS has the type that of a posted receipt, as if a merged receipt had it.
-- A worker sends it in the transaction of a batch, after merge_transactions and merge_posted_types, one element of each array for each transaction
-- that was posted, or of which no JWS in the batch has the type. The batch has locked their contracts.
-- Returns no rows.
UPDATE appstore.transactions AS t
SET (product_type, is_subscription, period_no) = (
        SELECT w.product_type, w.is_subscription, w.period_no FROM appstore.with_type(t, typed.product_type, t.is_subscription) AS w),
    known = CASE WHEN t.signed_date IS NOT NULL THEN coalesce(t.known, '{}') || '{"product_type": null}' END
FROM (
    SELECT found.environment, found.transaction_id, posted.product_type
    FROM (
        SELECT unnest(:environments::appstore.environment[]) AS environment, unnest(:transaction_ids::text[] COLLATE "C") AS transaction_id
        ORDER BY environment, transaction_id
    ) AS u
    CROSS JOIN LATERAL (
        SELECT p.product_type FROM appstore.posted_types AS p
        WHERE p.transaction_id = u.transaction_id AND p.environment = u.environment OFFSET 0
    ) AS posted
    CROSS JOIN LATERAL (
        SELECT f.environment, f.transaction_id FROM appstore.transactions AS f
        WHERE f.transaction_id = u.transaction_id AND f.environment = u.environment
          AND (f.product_type IS NULL OR (f.product_type < posted.product_type
                                          AND (f.signed_date IS NULL OR f.known -> 'product_type' = 'null')))
        OFFSET 0 FOR UPDATE
    ) AS found
) AS typed
WHERE t.transaction_id = ANY (:transaction_ids::text[]) AND t.transaction_id = typed.transaction_id AND t.environment = typed.environment;
