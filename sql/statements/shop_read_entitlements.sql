-- Reads the entitlements of a user.
-- The API's listener sends it for GET /v1/users/{user}/entitlements.
-- Returns a row for each contract and product, active or not, of the apps of the key.
SELECT product_id, entitlement, active, ends_at, why, in_grace, will_renew, original_transaction_id, bundle_id
FROM appstore.api_entitlements(:key_hash::bytea, :environment::appstore.environment, :user_id::text);
