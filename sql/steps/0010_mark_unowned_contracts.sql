-- after the definitions
-- Contracts say that something paid has no owner, and consumables without one have a contract: so appstore.unmatched finds them.
UPDATE appstore.contracts AS m SET is_unowned = true
WHERE m.user_id IS NULL AND NOT m.is_unowned
  AND EXISTS (SELECT FROM appstore.orders AS o
              WHERE o.original_transaction_id = m.original_transaction_id AND o.environment = m.environment
                AND o.status IN ('paid', 'partly_refunded') OFFSET 0);
-- Some hundred contracts a call, since the derivation is made for batches.
SELECT appstore.derive_ledger(slice.environment, '{}', slice.ids, p_is_exclusive => true) -- an earlier step of this upgrade has locked all
FROM (
    SELECT due.environment, array_agg(due.id ORDER BY due.id) AS ids
    FROM (
        SELECT every.environment, every.id, (row_number() OVER (PARTITION BY every.environment ORDER BY every.id) - 1) / 500 AS number
        FROM (
            SELECT DISTINCT t.environment, t.original_transaction_id AS id
            FROM appstore.transactions AS t
            WHERE t.is_purchased AND NOT t.confers_access
              AND NOT EXISTS (SELECT FROM appstore.contracts AS m
                              WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = t.environment)
              AND NOT EXISTS (SELECT FROM appstore.ownership_claims AS c
                              WHERE c.original_transaction_id = t.original_transaction_id AND c.environment = t.environment)
        ) AS every
    ) AS due
    GROUP BY due.environment, due.number
    ORDER BY due.environment, due.number
) AS slice;
