-- Reads a page of a user's orders.
-- The API's listener sends it for GET /v1/users/{user}/orders.
-- Returns a row for each order of the apps of the key, newest first.
SELECT *
FROM appstore.api_user_orders(:key_hash::bytea, :environment::appstore.environment, :user_id::text, :status::text, :product_id::text,
                              :before_at::timestamptz, :before_no::uuid, :limit::integer);
