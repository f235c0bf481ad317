CREATE OR REPLACE VIEW appstore.user_orders AS
-- As in appstore.order_status, but by the index of the shop's orders for a user.
SELECT o.environment, o.order_no, o.user_id, coalesce(o.product_id, o.paid_product_id) AS product_id,
       coalesce((SELECT t.bundle_id FROM appstore.transactions AS t
                 WHERE t.transaction_id = o.transaction_id AND t.environment = o.environment), o.bundle_id) AS bundle_id,
       o.status, o.reason, o.ordered_at, o.paid_at, o.quantity, o.price, o.currency, o.transaction_id, o.original_transaction_id
FROM appstore.token_orders AS o
WHERE o.ordered_at IS NOT NULL
UNION ALL
-- Orders that the shop did not make have no index by user: the user's contracts lead to them.
SELECT s.environment, s.order_no, s.user_id, s.product_id, s.bundle_id, s.status, s.reason, NULL::timestamptz AS ordered_at, s.paid_at, s.quantity, s.price, s.currency,
       s.transaction_id, s.original_transaction_id
FROM (SELECT DISTINCT c.environment, c.original_transaction_id, c.user_id FROM appstore.ownership_claims AS c) AS owned
CROSS JOIN LATERAL (
    SELECT s.* FROM appstore.order_status AS s
    WHERE s.original_transaction_id = owned.original_transaction_id AND s.environment = owned.environment AND s.ordered_at IS NULL OFFSET 0
) AS s
WHERE s.user_id = owned.user_id;
COMMENT ON VIEW appstore.user_orders IS
    'The orders of users: those that the shop made, paid or not, and those of renewals and of purchases without an order. Always give a user_id: '
    'it is found by an index. Columns are those of appstore.order_status.';
COMMENT ON COLUMN appstore.user_orders.product_id IS 'The product that was ordered; without an order of the shop the one that was bought.';
COMMENT ON COLUMN appstore.user_orders.bundle_id IS 'The app that sold it; while it is pending the one that it was ordered for, null for any app.';
COMMENT ON COLUMN appstore.user_orders.status IS 'pending, paid, partly_refunded or refunded.';
COMMENT ON COLUMN appstore.user_orders.reason IS 'product_mismatch where another product or app was bought with this number.';
COMMENT ON COLUMN appstore.user_orders.ordered_at IS
    'When the shop made the order; null for the order of a renewal, and of a purchase without an order.';
COMMENT ON COLUMN appstore.user_orders.paid_at IS 'When the customer bought it; null while it is pending.';
