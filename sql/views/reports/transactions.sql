-- The columns of RevenueCat's Scheduled Data Exports, by their names. A part that only a few columns need is a join on a key or a subquery:
-- PostgreSQL leaves it out of a query that does not name the column.
CREATE OR REPLACE VIEW appstore_reports.transactions AS
SELECT coalesce(m.user_id, n.original_transaction_id) AS rc_original_app_user_id,
       coalesce(m.user_id, n.original_transaction_id) AS rc_last_seen_app_user_id_alias,
       n.storefront AS country,
       CASE WHEN n.storefront IS NOT NULL THEN 'from_sdk' END AS country_source,
       n.product_id AS product_identifier,
       NULL::text AS product_display_name,
       coalesce(n.plan_duration, p.duration) AS product_duration,
       n.purchase_date AT TIME ZONE 'UTC' AS start_time,
       CASE WHEN n.is_subscription THEN n.expires_date AT TIME ZONE 'UTC' END AS end_time,
       n.grace_ends_at AT TIME ZONE 'UTC' AS grace_period_end_time,
       n.ended_at AT TIME ZONE 'UTC' AS effective_end_time,
       'app_store' AS store,
       n.is_subscription AS is_auto_renewable,
       n.is_trial AS is_trial_period,
       n.is_intro AS is_in_intro_offer_period,
       n.environment = 'Sandbox' AS is_sandbox,
       n.price * 0.001 * (100000 - n.refunded_percentage) / 100000 * CASE WHEN n.currency = 'USD' THEN 1 ELSE (
           SELECT f.per_unit FROM appstore.fx_rates AS f
           WHERE f.currency = n.currency AND f.day <= (n.purchase_date AT TIME ZONE 'UTC')::date ORDER BY f.day DESC LIMIT 1)
           END AS price_in_usd,
       n.price * 0.001 * CASE WHEN n.currency = 'USD' THEN 1 ELSE (
           SELECT f.per_unit FROM appstore.fx_rates AS f
           WHERE f.currency = n.currency AND f.day <= (n.purchase_date AT TIME ZONE 'UTC')::date ORDER BY f.day DESC LIMIT 1)
           END AS purchase_price_in_usd,
       NULL::numeric AS takehome_percentage,
       NULL::numeric AS tax_percentage,
       NULL::numeric AS commission_percentage,
       n.transaction_id AS store_transaction_id,
       n.original_transaction_id AS original_store_transaction_id,
       n.refunded_at AT TIME ZONE 'UTC' AS refunded_at,
       e.unsubscribe_detected_at,
       e.billing_issues_detected_at,
       n.currency AS purchased_currency,
       n.price * 0.001 * (100000 - n.refunded_percentage) / 100000 AS price_in_purchased_currency,
       n.price * 0.001 AS purchase_price_in_purchased_currency,
       coalesce(p.entitlements, ARRAY[n.product_id]) AS entitlement_identifiers,
       n.renewal_number,
       n.is_trial_conversion,
       NULL::text AS presented_offering,
       coalesce(n.in_app_ownership_type, 'PURCHASED') AS ownership_type,
       NULL::text AS reserved_subscriber_attributes,
       NULL::text AS custom_subscriber_attributes,
       NULL::text AS platform,
       NULL::text AS experiment_id,
       NULL::text AS experiment_variant,
       n.stated_at AT TIME ZONE 'UTC' AS updated_at,
       n.offer_identifier AS offer,
       CASE n.offer_type WHEN 1 THEN 'introductory' WHEN 2 THEN 'promotional' WHEN 3 THEN 'offer_code' WHEN 4 THEN 'win_back' WHEN 5 THEN 'retention'
                         ELSE n.offer_type::text END AS offer_type,
       m.started_at AT TIME ZONE 'UTC' AS first_seen_time,
       NULL::timestamp AS auto_resume_time
FROM appstore_reports.numbered AS n
LEFT JOIN appstore.contracts AS m ON m.original_transaction_id = n.original_transaction_id AND m.environment = n.environment
LEFT JOIN (
    SELECT p.product_id, p.bundle_id, max(p.duration) AS duration, array_agg(p.entitlement ORDER BY p.entitlement) AS entitlements
    FROM appstore.products AS p GROUP BY p.product_id, p.bundle_id
) AS p ON p.product_id = n.product_id AND p.bundle_id = n.bundle_id
LEFT JOIN (
    SELECT e.environment, e.transaction_id,
           CASE WHEN max(e.occurred_at) FILTER (WHERE e.kind = 'will_renew') > max(e.occurred_at) FILTER (WHERE e.kind = 'will_not_renew')
                THEN NULL ELSE max(e.occurred_at) FILTER (WHERE e.kind = 'will_not_renew') END AT TIME ZONE 'UTC' AS unsubscribe_detected_at,
           min(e.occurred_at) FILTER (WHERE e.kind IN ('billing_retry_started', 'grace_period_started')) AT TIME ZONE 'UTC'
               AS billing_issues_detected_at
    FROM appstore.effect_log AS e
    WHERE e.kind IN ('will_renew', 'will_not_renew', 'billing_retry_started', 'grace_period_started')
    GROUP BY e.environment, e.transaction_id
) AS e ON e.transaction_id = n.transaction_id AND e.environment = n.environment;
COMMENT ON VIEW appstore_reports.transactions IS
    'A row for each charge, also of Sandbox, with the column names of RevenueCat''s Scheduled Data Exports, so that queries for these run here. '
    'Times are in UTC. Columns that nothing here knows are null. Prices are what Apple''s transactions say: Apple advises against using price '
    'for financial reconciliation.';
COMMENT ON COLUMN appstore_reports.transactions.rc_original_app_user_id IS
    'The user to whom the contract belongs today, else the contract''s originalTransactionId.';
COMMENT ON COLUMN appstore_reports.transactions.rc_last_seen_app_user_id_alias IS 'The same as rc_original_app_user_id.';
COMMENT ON COLUMN appstore_reports.transactions.country IS 'The storefront, as Apple names it: three letters, such as USA.';
COMMENT ON COLUMN appstore_reports.transactions.country_source IS 'from_sdk where the storefront is known.';
COMMENT ON COLUMN appstore_reports.transactions.product_identifier IS 'The product.';
COMMENT ON COLUMN appstore_reports.transactions.product_display_name IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.product_duration IS
    'P1M for a month of a yearly commitment, else the duration in appstore.products; null where no row of the product has one.';
COMMENT ON COLUMN appstore_reports.transactions.start_time IS 'purchaseDate.';
COMMENT ON COLUMN appstore_reports.transactions.end_time IS 'expiresDate of a subscription.';
COMMENT ON COLUMN appstore_reports.transactions.grace_period_end_time IS
    'The end of the grace period in which no charge came; null otherwise.';
COMMENT ON COLUMN appstore_reports.transactions.effective_end_time IS
    'The end of access: of the period or its grace period, or earlier by a refund, a revocation or an upgrade.';
COMMENT ON COLUMN appstore_reports.transactions.store IS 'Always app_store.';
COMMENT ON COLUMN appstore_reports.transactions.is_auto_renewable IS 'Whether it is a period of an auto-renewable subscription.';
COMMENT ON COLUMN appstore_reports.transactions.is_trial_period IS 'Whether it is a free trial, of whatever offer.';
COMMENT ON COLUMN appstore_reports.transactions.is_in_intro_offer_period IS 'Whether it is a paid introductory offer.';
COMMENT ON COLUMN appstore_reports.transactions.is_sandbox IS 'Whether the environment is Sandbox.';
COMMENT ON COLUMN appstore_reports.transactions.price_in_usd IS
    'price_in_purchased_currency by the rate of the day in appstore.fx_rates; null without a rate.';
COMMENT ON COLUMN appstore_reports.transactions.purchase_price_in_usd IS
    'purchase_price_in_purchased_currency by the rate of the day in appstore.fx_rates; null without a rate.';
COMMENT ON COLUMN appstore_reports.transactions.takehome_percentage IS 'Always null: Apple does not tell it.';
COMMENT ON COLUMN appstore_reports.transactions.tax_percentage IS 'Always null: Apple does not tell it.';
COMMENT ON COLUMN appstore_reports.transactions.commission_percentage IS 'Always null: Apple does not tell it.';
COMMENT ON COLUMN appstore_reports.transactions.store_transaction_id IS 'Apple''s transactionId, the key within an environment.';
COMMENT ON COLUMN appstore_reports.transactions.original_store_transaction_id IS 'Apple''s originalTransactionId: the contract.';
COMMENT ON COLUMN appstore_reports.transactions.refunded_at IS
    'When it was refunded, in full or in part; null where an upgrade replaced it.';
COMMENT ON COLUMN appstore_reports.transactions.unsubscribe_detected_at IS
    'When the customer turned off renewal in this period and did not turn it on again.';
COMMENT ON COLUMN appstore_reports.transactions.billing_issues_detected_at IS
    'When Apple first said that the renewal of this period failed.';
COMMENT ON COLUMN appstore_reports.transactions.purchased_currency IS 'The currency of the price.';
COMMENT ON COLUMN appstore_reports.transactions.price_in_purchased_currency IS
    'The price less its refund; null of a charge that only a receipt tells.';
COMMENT ON COLUMN appstore_reports.transactions.purchase_price_in_purchased_currency IS
    'The price; null of a charge that only a receipt tells.';
COMMENT ON COLUMN appstore_reports.transactions.entitlement_identifiers IS
    'The entitlements of the product in appstore.products, else its own name.';
COMMENT ON COLUMN appstore_reports.transactions.renewal_number IS 'The place of the charge in its contract, from 1; a trial counts.';
COMMENT ON COLUMN appstore_reports.transactions.is_trial_conversion IS 'Whether it is paid and the charge before it was a trial.';
COMMENT ON COLUMN appstore_reports.transactions.presented_offering IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.ownership_type IS 'PURCHASED, FAMILY_SHARED or ASSIGNED, or what else Apple says.';
COMMENT ON COLUMN appstore_reports.transactions.reserved_subscriber_attributes IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.custom_subscriber_attributes IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.platform IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.experiment_id IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.experiment_variant IS 'Always null.';
COMMENT ON COLUMN appstore_reports.transactions.updated_at IS 'When Apple signed or stated the charge last.';
COMMENT ON COLUMN appstore_reports.transactions.offer IS 'The offer''s identifier; introductory offers have none.';
COMMENT ON COLUMN appstore_reports.transactions.offer_type IS 'introductory, promotional, offer_code, win_back or retention.';
COMMENT ON COLUMN appstore_reports.transactions.first_seen_time IS 'The first charge of the contract.';
COMMENT ON COLUMN appstore_reports.transactions.auto_resume_time IS 'Always null.';
