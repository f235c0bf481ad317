CREATE OR REPLACE VIEW appstore.order_status AS
SELECT o.environment, o.order_no, o.user_id, coalesce(o.product_id, o.paid_product_id) AS product_id,
       coalesce(o.paid_bundle_id, o.bundle_id) AS bundle_id, o.status, o.reason, o.ordered_at, o.paid_at, o.quantity, o.price, o.currency,
       o.transaction_id, o.original_transaction_id
FROM appstore.orders AS o;
COMMENT ON VIEW appstore.order_status IS
    'Every order, by its number: whether it is paid, and for what. appstore.user_orders has those of a user.';
COMMENT ON COLUMN appstore.order_status.product_id IS 'The product that was ordered; without an order of the shop the one that was bought.';
COMMENT ON COLUMN appstore.order_status.bundle_id IS 'The app that sold it; while it is pending the one that it was ordered for, null for any app.';
COMMENT ON COLUMN appstore.order_status.status IS
    'pending, paid, partly_refunded (a part of the price) or refunded.';
COMMENT ON COLUMN appstore.order_status.reason IS
    'product_mismatch where another product or app was bought with this number: it does not pay the order.';
COMMENT ON COLUMN appstore.order_status.ordered_at IS
    'When the shop made the order; null for the order of a renewal, and of a purchase without an order.';
COMMENT ON COLUMN appstore.order_status.paid_at IS 'When the customer bought it; null while it is pending.';
