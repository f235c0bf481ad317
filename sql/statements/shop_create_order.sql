-- Creates a Production order, or finds the one with this number.
-- The API's listener sends it for POST /v1/orders.
-- Returns one row: result is made, same, conflict when an order with this number was created for something else, or user_token when the number
-- means a user, and the columns of the order, which are null then.
-- Fails with insufficient_privilege where the key does not permit it, as all statements with :key_hash do.
SELECT c.result, (c.placed).*
FROM appstore.api_create_order(:key_hash::bytea, :user_id::text, :product_id::text, :order_no::uuid /* null */, :bundle_id::text /* null */) AS c;
