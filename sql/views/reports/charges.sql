CREATE OR REPLACE VIEW appstore_reports.charges AS
SELECT t.environment, t.transaction_id, t.original_transaction_id, t.bundle_id, t.product_id, t.is_subscription, t.is_purchased,
       t.storefront, t.offer_type, t.offer_identifier, t.offer_discount_type, t.currency, t.price, t.transaction_reason, t.purchase_date, t.expires_date,
       r.grace_ends_at,
       least(CASE WHEN t.is_subscription THEN coalesce(r.grace_ends_at, t.expires_date) END, state.revocation_date, r.replaced_at) AS ended_at,
       coalesce(t.offer_discount_type = 'FREE_TRIAL', false) AS is_trial,
       t.offer_type IS NOT DISTINCT FROM 1 AND t.offer_discount_type IS DISTINCT FROM 'FREE_TRIAL' AS is_intro,
       CASE WHEN t.is_purchased AND state.is_upgraded IS NOT TRUE THEN state.revocation_date END AS refunded_at,
       CASE WHEN t.is_purchased AND state.is_upgraded IS NOT TRUE AND state.revocation_date IS NOT NULL
            THEN coalesce(state.revocation_percentage, 100000) ELSE 0 END AS refunded_percentage,
       greatest(t.signed_date, t.receipt_date) AS stated_at
FROM appstore.transactions AS t
LEFT JOIN appstore_reports.corrections() AS r ON r.transaction_id = t.transaction_id AND r.environment = t.environment
CROSS JOIN LATERAL (
    SELECT CASE WHEN r.is_copied THEN r.revocation_date ELSE t.revocation_date END AS revocation_date,
           CASE WHEN r.is_copied THEN r.revocation_percentage ELSE t.revocation_percentage END AS revocation_percentage,
           CASE WHEN r.is_copied THEN r.is_upgraded ELSE t.is_upgraded END AS is_upgraded
) AS state
WHERE NOT t.is_later_copy;
COMMENT ON VIEW appstore_reports.charges IS 'What all reports are made of: each charge once, and until when it gave access.';
COMMENT ON COLUMN appstore_reports.charges.is_subscription IS 'Whether it is a period of an auto-renewable subscription.';
COMMENT ON COLUMN appstore_reports.charges.is_purchased IS 'False for what a family member shares.';
COMMENT ON COLUMN appstore_reports.charges.grace_ends_at IS 'The end of the grace period in which no charge came.';
COMMENT ON COLUMN appstore_reports.charges.ended_at IS
    'The end of access: the earliest of expires_date, or the end of the grace period, of a refund or revocation, and of what replaced it.';
COMMENT ON COLUMN appstore_reports.charges.is_trial IS 'Whether it is a free trial, of whatever offer.';
COMMENT ON COLUMN appstore_reports.charges.is_intro IS 'Whether it is a paid introductory offer.';
COMMENT ON COLUMN appstore_reports.charges.refunded_at IS
    'When Apple refunded it, in full or in part; null of a charge that an upgrade replaced.';
COMMENT ON COLUMN appstore_reports.charges.refunded_percentage IS 'Thousandths of a per cent of the price that were refunded.';
COMMENT ON COLUMN appstore_reports.charges.stated_at IS 'When Apple signed or stated it last.';
