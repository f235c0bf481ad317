-- after the definitions
-- Derives again what the rules of this release derive otherwise: purchases with copies, purchases that run at once, grace periods without a date,
-- and purchases that were posted. The feed tells what differs, once.
-- Some hundred contracts a call, since the derivation is made for batches.
SELECT appstore.derive_ledger(
    slice.environment,
    ARRAY(SELECT t.transaction_id FROM appstore.transactions AS t
          WHERE t.original_transaction_id = ANY (slice.ids) AND t.environment = slice.environment ORDER BY t.transaction_id),
    slice.ids,
    p_is_exclusive => true) -- the first step of this upgrade has locked all
FROM (
    SELECT due.environment, array_agg(due.id ORDER BY due.id) AS ids
    FROM (
        SELECT every.environment, every.id, (row_number() OVER (PARTITION BY every.environment ORDER BY every.id) - 1) / 500 AS number
        FROM (
            SELECT c.environment, c.original_transaction_id AS id
            FROM appstore.transactions AS c
            WHERE CASE WHEN c.is_subscription
                       THEN EXISTS (SELECT FROM appstore.transactions AS o
                                    WHERE o.period_no = c.period_no AND o.environment = c.environment AND o.transaction_id <> c.transaction_id)
                            OR EXISTS (SELECT FROM appstore.transactions AS o
                                       WHERE o.original_transaction_id = c.original_transaction_id AND o.environment = c.environment
                                         AND o.period_no <> c.period_no AND o.purchase_date <= c.purchase_date
                                         AND o.expires_date > c.purchase_date)
                       ELSE c.transaction_id <> c.original_transaction_id END
            UNION
            SELECT m.environment, m.original_transaction_id FROM appstore.contracts AS m
            WHERE m.renewal_status = 4 AND m.grace_period_expires_date IS NULL
            UNION
            SELECT p.environment, p.original_transaction_id
            FROM appstore.client_posts AS p
            JOIN appstore.contracts AS m ON m.original_transaction_id = p.original_transaction_id AND m.environment = p.environment
            WHERE NOT p.is_receipt OR m.user_id IS NULL OR starts_with(p.user_id, 'forgotten:')
               OR EXISTS (SELECT FROM appstore.ownership_claims AS k
                          WHERE k.original_transaction_id = p.original_transaction_id AND k.environment = p.environment
                            AND starts_with(k.user_id, 'forgotten:'))
               -- Orders that the shop has not made had no user.
               OR EXISTS (SELECT FROM appstore.token_orders AS o
                          WHERE o.original_transaction_id = p.original_transaction_id AND o.environment = p.environment AND o.ordered_at IS NULL)
        ) AS every
    ) AS due
    GROUP BY due.environment, due.number
    ORDER BY due.environment, due.number
) AS slice;
