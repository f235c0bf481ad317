-- Reads an order.
-- The API's listener sends it for GET /v1/orders/{orderNo}.
-- Returns one row, or none when no order of the apps of the key has this number.
SELECT * FROM appstore.api_order(:key_hash::bytea, :environment::appstore.environment, :order_no::uuid);
