CREATE VIEW appstore.payments AS
SELECT o.environment, o.user_id, o.order_no, o.status, o.paid_product_id AS product_id, o.paid_at, o.quantity, o.price, o.currency,
       o.transaction_id, o.original_transaction_id
FROM appstore.orders AS o
WHERE o.order_no IS DISTINCT FROM o.period_no AND o.period_no IS NOT NULL AND o.user_id IS NOT NULL
UNION ALL
-- Orders of periods have no index by user: the user's contracts lead to them.
SELECT owned.environment, owned.user_id, o.order_no, o.status, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency,
       o.transaction_id, owned.original_transaction_id
FROM (SELECT DISTINCT c.environment, c.original_transaction_id, c.user_id FROM appstore.ownership_claims AS c) AS owned
CROSS JOIN LATERAL (
    SELECT t.transaction_id, t.period_no FROM appstore.transactions AS t
    WHERE t.original_transaction_id = owned.original_transaction_id AND t.environment = owned.environment OFFSET 0
) AS t
CROSS JOIN LATERAL (
    SELECT o.* FROM appstore.orders AS o
    WHERE o.order_no = t.period_no AND o.environment = owned.environment AND o.period_no = o.order_no
      AND o.transaction_id = t.transaction_id AND o.user_id = owned.user_id OFFSET 0
) AS o;
COMMENT ON VIEW appstore.payments IS
    'The payments of users: their orders that are paid, partly refunded or refunded, first purchases and renewals. product_id is the product '
    'that was bought. appstore.unmatched lists payments without a user.';
COMMENT ON COLUMN appstore.payments.price IS 'Thousandths of the currency''s unit.';
