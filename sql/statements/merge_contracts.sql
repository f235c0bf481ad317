-- Locks all contracts that a batch concerns, makes the missing rows, and merges renewal info and status into the registers.
-- A worker sends it in the transaction of a batch, before any other row of the ledger, one element of each array for each contract; all but
-- the key is null for a contract that is only locked. The rows stay locked, also those that do not change: only the transaction that holds a
-- contract derives its part of the ledger. appstore.apply_facts deletes a row again that has no facts.
-- Returns environment and original_transaction_id of the rows that are new or changed.
--
-- A newer fact replaces the register as a whole; the hash decides between facts of one instant. One statement, so that rows are locked and made
-- in one order: two batches that make rows of the same contracts wait for one another, and never both.
INSERT INTO appstore.contracts AS c (
    environment, original_transaction_id, renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status, expiration_intent,
    is_in_billing_retry_period, price_increase_status, grace_period_expires_date, renewal_date, renewal_price, renewal_currency, renewal_offer_type,
    renewal_offer_identifier, renewal_offer_discount_type, renewal_offer_period, eligible_win_back_offer_ids,
    recent_subscription_start_date, renewal_app_account_token, renewal_app_transaction_id, renewal_billing_plan_type, renewal_signed_date,
    renewal_hash
)
SELECT u.*
FROM ( -- not a function in FROM, which PostgreSQL would materialise column by column
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:original_transaction_ids::text[] COLLATE "C") AS original_transaction_id,
           unnest(:statuses::integer[]) AS renewal_status,
           unnest(:product_ids::text[]) AS renewal_product_id,
           unnest(:auto_renew_product_ids::text[]) AS auto_renew_product_id,
           unnest(:auto_renew_statuses::integer[]) AS auto_renew_status,
           unnest(:expiration_intents::integer[]) AS expiration_intent,
           unnest(:is_in_billing_retry_period::boolean[]) AS is_in_billing_retry_period,
           unnest(:price_increase_statuses::integer[]) AS price_increase_status,
           unnest(:grace_period_expires_dates::timestamptz[]) AS grace_period_expires_date,
           unnest(:renewal_dates::timestamptz[]) AS renewal_date,
           unnest(:renewal_prices::bigint[]) AS renewal_price,
           unnest(:currencies::text[]) AS renewal_currency,
           unnest(:offer_types::integer[]) AS renewal_offer_type,
           unnest(:offer_identifiers::text[]) AS renewal_offer_identifier,
           unnest(:offer_discount_types::text[]) AS renewal_offer_discount_type,
           unnest(:offer_periods::text[]) AS renewal_offer_period,
           unnest(:eligible_win_back_offer_ids::jsonb[]) AS eligible_win_back_offer_ids,
           unnest(:recent_subscription_start_dates::timestamptz[]) AS recent_subscription_start_date,
           unnest(:app_account_tokens::uuid[]) AS renewal_app_account_token,
           unnest(:app_transaction_ids::text[]) AS renewal_app_transaction_id,
           unnest(:renewal_billing_plan_types::text[]) AS renewal_billing_plan_type,
           unnest(:signed_dates::timestamptz[]) AS renewal_signed_date,
           unnest(:fact_hashes::bytea[]) AS renewal_hash
) AS u
ORDER BY u.environment, u.original_transaction_id
ON CONFLICT (original_transaction_id, environment) DO UPDATE
SET renewal_status = excluded.renewal_status, renewal_product_id = excluded.renewal_product_id,
    auto_renew_product_id = excluded.auto_renew_product_id, auto_renew_status = excluded.auto_renew_status,
    expiration_intent = excluded.expiration_intent,
    is_in_billing_retry_period = excluded.is_in_billing_retry_period, price_increase_status = excluded.price_increase_status,
    grace_period_expires_date = excluded.grace_period_expires_date, renewal_date = excluded.renewal_date,
    renewal_price = excluded.renewal_price, renewal_currency = excluded.renewal_currency, renewal_offer_type = excluded.renewal_offer_type,
    renewal_offer_identifier = excluded.renewal_offer_identifier, renewal_offer_discount_type = excluded.renewal_offer_discount_type,
    renewal_offer_period = excluded.renewal_offer_period,
    eligible_win_back_offer_ids = excluded.eligible_win_back_offer_ids,
    recent_subscription_start_date = excluded.recent_subscription_start_date, renewal_app_account_token = excluded.renewal_app_account_token,
    renewal_app_transaction_id = excluded.renewal_app_transaction_id, renewal_billing_plan_type = excluded.renewal_billing_plan_type,
    renewal_signed_date = excluded.renewal_signed_date, renewal_hash = excluded.renewal_hash
WHERE appstore.is_newer(excluded.renewal_signed_date, excluded.renewal_hash, c.renewal_signed_date, c.renewal_hash)
RETURNING c.environment::text, c.original_transaction_id;
