-- Reads a contract with the state of its renewal.
-- The API's listener sends it for GET /v1/subscriptions/{originalTransactionId}.
-- Returns one row, or none when no contract of the apps of the key has this id.
SELECT user_id, bundle_id, product_id, product_type, status, active, ends_at, will_renew, renews_as, expiration_intent,
       in_billing_retry, grace_ends_at, started_at, period_started_at, period_ends_at, revoked_at, transaction_id
FROM appstore.api_subscription(:key_hash::bytea, :environment::appstore.environment, :original_transaction_id::text);
