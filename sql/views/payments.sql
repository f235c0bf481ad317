CREATE OR REPLACE VIEW appstore.payments AS
SELECT u.environment, u.user_id, u.order_no, u.status, u.product_id, u.paid_at, u.quantity, u.price, u.currency, u.transaction_id,
       u.original_transaction_id
FROM appstore.user_orders AS u
WHERE u.status <> 'pending';
COMMENT ON VIEW appstore.payments IS
    'The payments of users: their orders that are paid, partly refunded or refunded, first purchases and renewals. Always give a user_id. '
    'appstore.unmatched lists payments without a user.';
COMMENT ON COLUMN appstore.payments.status IS 'paid, partly_refunded or refunded.';
COMMENT ON COLUMN appstore.payments.product_id IS 'The product that was bought.';
COMMENT ON COLUMN appstore.payments.paid_at IS 'When the customer bought it.';
