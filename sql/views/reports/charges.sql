CREATE OR REPLACE VIEW appstore_reports.charges AS
SELECT t.environment, t.transaction_id, t.original_transaction_id, t.bundle_id, t.product_id, t.is_subscription, t.is_purchased,
       t.in_app_ownership_type,
       t.storefront, t.offer_type, t.offer_identifier, t.offer_discount_type, t.currency,
       CASE WHEN t.is_purchased THEN t.price END AS price, t.transaction_reason, t.purchase_date, t.expires_date,
       CASE WHEN t.billing_plan_type = 'MONTHLY' THEN 'P1M' END AS plan_duration,
       r.period_start IS NOT NULL AS is_addition, coalesce(r.period_start, t.purchase_date) AS period_start,
       CASE WHEN state.revoked_seats > 0 AND NOT state.is_refunded THEN (t.price::numeric * (t.quantity - state.revoked_seats) / t.quantity)::bigint
            ELSE t.price END AS running_price,
       -- The first month of a commitment began about so many months ago; Apple may have extended some. If it is not known, by the calendar.
       CASE WHEN state.earlier_months > 0
            THEN coalesce((SELECT f.purchase_date - CASE WHEN f.transaction_reason = 'RENEWAL' THEN interval '24 hours' ELSE '0' END
                           FROM appstore.transactions AS f
                           WHERE f.original_transaction_id = t.original_transaction_id AND f.environment = t.environment
                             AND f.purchase_date < t.purchase_date
                             AND f.purchase_date > t.purchase_date - (state.earlier_months + 4) * interval '1 month'
                             AND f.is_purchased = t.is_purchased AND f.product_id = t.product_id
                             AND f.commitment_info ->> 'billingPeriodNumber' = '1'
                           ORDER BY f.expires_date DESC, f.purchase_date LIMIT 1), -- and not seats that were added in it
                          t.purchase_date - state.earlier_months * interval '1 month' - interval '24 hours')
            ELSE t.purchase_date - CASE WHEN t.transaction_reason = 'RENEWAL' THEN interval '24 hours' ELSE '0' END END AS committed_at,
       r.grace_ends_at,
       least(CASE WHEN t.is_subscription THEN coalesce(r.grace_ends_at, t.expires_date) END, state.revocation_date, r.replaced_at) AS ended_at,
       least(CASE WHEN t.is_subscription THEN greatest(r.grace_ends_at, t.expires_date, r.additions_expire_at) END,
             CASE WHEN state.revocation_date IS NOT NULL THEN greatest(state.revocation_date, r.additions_revoked_at) END, r.replaced_at)
           AS counted_until,
       coalesce(t.offer_discount_type = 'FREE_TRIAL', false) AS is_trial,
       t.offer_type IS NOT DISTINCT FROM 1 AND t.offer_discount_type IS DISTINCT FROM 'FREE_TRIAL' AS is_intro,
       CASE WHEN state.is_refunded THEN state.revocation_date END AS refunded_at,
       CASE WHEN state.is_refunded THEN coalesce(state.revocation_percentage, 100000)
            WHEN state.revoked_seats > 0 THEN (100000::bigint * state.revoked_seats / t.quantity)::integer
            ELSE 0 END AS refunded_percentage,
       state.is_refunded AND r.additions_revoked_at IS DISTINCT FROM 'infinity' AS is_refunded,
       greatest(t.signed_date, t.receipt_date) AS stated_at
FROM appstore.transactions AS t
LEFT JOIN appstore_reports.corrections() AS r ON r.transaction_id = t.transaction_id AND r.environment = t.environment
CROSS JOIN LATERAL (
    SELECT s.revocation_date, s.revocation_percentage,
           CASE WHEN t.is_purchased
                THEN least(greatest(CASE WHEN r.is_copied THEN r.revoked_seats ELSE (t.multi_seat_info ->> 'revokedSeatQuantity')::integer END, 0),
                           t.quantity) END AS revoked_seats,
           least(coalesce((t.commitment_info ->> 'billingPeriodNumber')::integer, 1), 120) - 1 AS earlier_months,
           s.revocation_date IS NOT NULL AND t.is_purchased AND s.is_upgraded IS NOT TRUE
               -- appstore.is_refund, written out: a view calls functions with the rights of its reader.
               AND coalesce(s.revocation_type, 'REFUND_FULL') IN ('REFUND_FULL', 'REFUND_PRORATED') AS is_refunded
    FROM (
        SELECT CASE WHEN r.is_copied THEN r.revocation_date ELSE t.revocation_date END AS revocation_date,
               CASE WHEN r.is_copied THEN r.revocation_type ELSE t.revocation_type END AS revocation_type,
               CASE WHEN r.is_copied THEN r.revocation_percentage ELSE t.revocation_percentage END AS revocation_percentage,
               CASE WHEN r.is_copied THEN r.is_upgraded ELSE t.is_upgraded END AS is_upgraded
    ) AS s
) AS state
WHERE NOT t.is_later_copy OR t.additional_transaction_reason IS NOT NULL AND r.is_copy IS NOT TRUE;
COMMENT ON VIEW appstore_reports.charges IS 'What all reports are made of: each charge once, and until when it gave access.';
COMMENT ON COLUMN appstore_reports.charges.is_subscription IS 'Whether it is a period of an auto-renewable subscription.';
COMMENT ON COLUMN appstore_reports.charges.is_purchased IS 'False for what is shared or assigned.';
COMMENT ON COLUMN appstore_reports.charges.grace_ends_at IS 'The end of the grace period in which no charge came.';
COMMENT ON COLUMN appstore_reports.charges.ended_at IS
    'The end of access: the earliest of expires_date, or the end of the grace period, of a refund or revocation, and of what replaced it.';
COMMENT ON COLUMN appstore_reports.charges.counted_until IS
    'The end of the subscription: ended_at or, where seats were added within the period, the end of the last of them.';
COMMENT ON COLUMN appstore_reports.charges.plan_duration IS
    'What the price is for, whatever the duration of the product: P1M for a month of a yearly commitment; null where the product says it.';
COMMENT ON COLUMN appstore_reports.charges.is_addition IS
    'Whether it added seats to a group whose subscription runs: its price counts, and it is no subscription of its own.';
COMMENT ON COLUMN appstore_reports.charges.period_start IS 'When the period began: of added seats before they were bought.';
COMMENT ON COLUMN appstore_reports.charges.committed_at IS
    'From when on what the customer says of renewal is about this charge: the purchase, of a month of a commitment that of its first one. Of a '
    'renewal a day before, since Apple charges up to a day ahead.';
COMMENT ON COLUMN appstore_reports.charges.running_price IS 'The price less that of seats that were refunded.';
COMMENT ON COLUMN appstore_reports.charges.is_trial IS 'Whether it is a free trial, of whatever offer.';
COMMENT ON COLUMN appstore_reports.charges.is_intro IS 'Whether it is a paid introductory offer.';
COMMENT ON COLUMN appstore_reports.charges.refunded_at IS
    'When Apple refunded it, in full or in part; null of a charge that an upgrade replaced, and of refunded seats, whose date Apple does not say.';
COMMENT ON COLUMN appstore_reports.charges.refunded_percentage IS 'Thousandths of a per cent of the price that were refunded.';
COMMENT ON COLUMN appstore_reports.charges.is_refunded IS
    'Whether the period was refunded: this charge, and no seats that were added within it run on.';
COMMENT ON COLUMN appstore_reports.charges.stated_at IS 'When Apple signed or stated it last.';
