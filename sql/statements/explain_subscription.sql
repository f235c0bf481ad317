-- Reads the register of a contract's renewal info and status.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row or none: the register as JSON, and its version.
SELECT c.renewal_signed_date AS signed_date, c.renewal_hash AS hash, row_to_json(r)::text AS row
FROM appstore.contracts AS c
CROSS JOIN LATERAL (
    SELECT c.environment, c.original_transaction_id, c.renewal_status, c.renewal_product_id, c.auto_renew_product_id, c.auto_renew_status,
           c.expiration_intent, c.is_in_billing_retry_period, c.price_increase_status, c.grace_period_expires_date, c.renewal_date,
           c.renewal_price, c.renewal_currency, c.renewal_offer_type, c.renewal_offer_identifier, c.renewal_offer_discount_type,
           c.renewal_offer_period, c.eligible_win_back_offer_ids, c.recent_subscription_start_date, c.renewal_app_account_token,
           c.renewal_app_transaction_id, c.renewal_billing_plan_type, c.renewal_signed_date, c.renewal_hash
) AS r
WHERE c.environment::text = :environment::text AND c.original_transaction_id = :original_transaction_id::text
  AND c.renewal_signed_date IS NOT NULL;
