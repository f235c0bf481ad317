-- after the definitions
-- Derives again what the rules of this release derive otherwise: purchases with copies, purchases that run at once, grace periods without a date, and
-- purchases without an owner that were posted. The feed tells what differs, once.
SELECT appstore.derive_ledger(
    due.environment,
    ARRAY(SELECT t.transaction_id FROM appstore.transactions AS t
          WHERE t.original_transaction_id = ANY (array_agg(due.id)) AND t.environment = due.environment ORDER BY t.transaction_id),
    array_agg(due.id ORDER BY due.id))
FROM (
    SELECT c.environment, c.original_transaction_id AS id
    FROM appstore.transactions AS c
    WHERE c.transaction_id <> c.original_transaction_id
      AND (NOT c.is_subscription
           OR EXISTS (SELECT FROM appstore.transactions AS o
                      WHERE o.period_no = c.period_no AND o.environment = c.environment AND o.transaction_id <> c.transaction_id)
           OR EXISTS (SELECT FROM appstore.transactions AS o
                      WHERE o.original_transaction_id = c.original_transaction_id AND o.environment = c.environment
                        AND o.purchase_date < c.purchase_date AND o.expires_date > c.purchase_date))
    UNION
    SELECT m.environment, m.original_transaction_id FROM appstore.contracts AS m
    WHERE m.renewal_status = 4 AND m.grace_period_expires_date IS NULL
    UNION
    SELECT m.environment, m.original_transaction_id FROM appstore.contracts AS m
    JOIN appstore.client_posts AS p ON p.original_transaction_id = m.original_transaction_id AND p.environment = m.environment
    WHERE m.user_id IS NULL
) AS due
GROUP BY due.environment
ORDER BY due.environment;
