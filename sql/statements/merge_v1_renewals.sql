-- Merges what Notifications V1 and verifyReceipt say of renewals into registers of their own, one for each contract and app.
-- A worker sends it in the transaction of a batch, after merge_contracts, one element of each array for each register.
-- Returns environment, original_transaction_id and bundle_id of the rows that changed.
--
-- A newer fact replaces the register as a whole; the hash decides between facts of one instant.
INSERT INTO appstore.v1_renewals AS l (
    environment, original_transaction_id, bundle_id, provenance, product_id, auto_renew_product_id, auto_renew_status,
    is_in_billing_retry_period, expiration_intent, grace_period_expires_date, price_increase_status, promotional_offer_id,
    offer_code_ref_name, stated_at, fact_hash
)
SELECT u.*
FROM ( -- not a function in FROM, which PostgreSQL would materialise column by column
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:original_transaction_ids::text[] COLLATE "C") AS original_transaction_id,
           unnest(:bundle_ids::text[] COLLATE "C") AS bundle_id,
           unnest(:provenances::text[]) AS provenance,
           unnest(:product_ids::text[]) AS product_id,
           unnest(:auto_renew_product_ids::text[]) AS auto_renew_product_id,
           unnest(:auto_renew_statuses::integer[]) AS auto_renew_status,
           unnest(:is_in_billing_retry_period::boolean[]) AS is_in_billing_retry_period,
           unnest(:expiration_intents::integer[]) AS expiration_intent,
           unnest(:grace_period_expires_dates::timestamptz[]) AS grace_period_expires_date,
           unnest(:price_increase_statuses::integer[]) AS price_increase_status,
           unnest(:promotional_offer_ids::text[]) AS promotional_offer_id,
           unnest(:offer_code_ref_names::text[]) AS offer_code_ref_name,
           unnest(:stated_at::timestamptz[]) AS stated_at,
           unnest(:fact_hashes::bytea[]) AS fact_hash
) AS u
ORDER BY u.environment, u.original_transaction_id, u.bundle_id
ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE
SET provenance = excluded.provenance, product_id = excluded.product_id, auto_renew_product_id = excluded.auto_renew_product_id,
    auto_renew_status = excluded.auto_renew_status, is_in_billing_retry_period = excluded.is_in_billing_retry_period,
    expiration_intent = excluded.expiration_intent, grace_period_expires_date = excluded.grace_period_expires_date,
    price_increase_status = excluded.price_increase_status, promotional_offer_id = excluded.promotional_offer_id,
    offer_code_ref_name = excluded.offer_code_ref_name, stated_at = excluded.stated_at, fact_hash = excluded.fact_hash
WHERE (excluded.stated_at, excluded.fact_hash) > (l.stated_at, l.fact_hash)
RETURNING l.environment::text, l.original_transaction_id, l.bundle_id;
