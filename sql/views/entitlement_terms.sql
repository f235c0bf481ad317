CREATE OR REPLACE VIEW appstore.entitlement_terms AS
SELECT m.environment, m.user_id, m.product_id, coalesce(p.entitlement, m.product_id) AS entitlement,
       term.until,
       -- Apple requires the service to continue although the charge failed.
       CASE WHEN m.status = 4 THEN m.current_period_end END AS grace_from,
       CASE
           WHEN c.transaction_id IS NULL THEN 'purchase_unknown'
           WHEN term.until IS NULL THEN 'duration_unknown'
           WHEN (m.revoked_at IS NOT NULL AND (m.current_period_end IS NULL OR term.until < m.current_period_end))
                OR (m.status = 5 AND m.renewal_signed_date >= c.first_signed_date)
               THEN CASE WHEN c.is_upgraded THEN 'upgraded' WHEN c.is_purchased AND appstore.is_refund(c.revocation_type) THEN 'refunded' ELSE 'revoked' END
           WHEN m.status IN (3, 4) AND greatest(m.renewal_signed_date, l.stated_at) >= c.first_signed_date THEN 'billing_retry'
           ELSE 'expired'
       END AS why_ended,
       CASE WHEN c.is_subscription IS NOT FALSE THEN m.will_renew ELSE false END AS will_renew,
       m.original_transaction_id, m.bundle_id,
       appstore.active_until(term.until, m.will_renew AND c.is_subscription IS NOT FALSE, m.status, m.revoked_at, c.is_upgraded, s.leeway)
           AS active_until,
       appstore.seats_of(m, c.multi_seat_info) AS seats, m.commitment_until, m.commitment_will_renew
FROM appstore.contracts AS m
LEFT JOIN appstore.transactions AS c ON c.transaction_id = m.current_transaction_id AND c.environment = m.environment
LEFT JOIN appstore.products AS p ON p.product_id = m.product_id AND p.bundle_id = m.bundle_id
LEFT JOIN LATERAL (
    SELECT r.stated_at FROM appstore.v1_renewals AS r
    WHERE r.original_transaction_id = m.original_transaction_id AND r.environment = m.environment AND r.bundle_id = m.bundle_id OFFSET 0
) AS l ON true
CROSS JOIN LATERAL (SELECT s.leeway FROM appstore.access_settings AS s WHERE s.is_only OFFSET 0) AS s
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN m.access_until IS NOT NULL OR m.product_type IS DISTINCT FROM 'Non-Renewing Subscription' THEN m.access_until
        -- A listed product without days lasts for ever. Hours: days would depend on the session's time zone.
        WHEN p.product_id IS NOT NULL THEN coalesce(m.current_period_start + p.days * interval '24 hours', 'infinity')
    END AS until
) AS term
WHERE m.product_id IS NOT NULL
  AND (c.confers_access OR m.product_type IN ('Non-Consumable', 'Non-Renewing Subscription') OR c.transaction_id IS NULL);
COMMENT ON VIEW appstore.entitlement_terms IS
    'The entitlements of each contract, and until when, with or without an owner: a row for each entitlement that appstore.products lists for '
    'its product, else one of the product''s name. appstore.entitlements shows which are active now.';
COMMENT ON COLUMN appstore.entitlement_terms.until IS
    'The end by Apple''s facts: infinity where it does not end; null while the purchase or its duration is unknown.';
COMMENT ON COLUMN appstore.entitlement_terms.grace_from IS 'From when access is a grace period.';
COMMENT ON COLUMN appstore.entitlement_terms.why_ended IS
    'The reason once it has ended: expired, billing_retry, refunded, revoked (without a refund: no longer shared or assigned), upgraded, duration_unknown (a non-renewing '
    'product that appstore.products does not list), purchase_unknown.';
COMMENT ON COLUMN appstore.entitlement_terms.entitlement IS 'The name in appstore.products, else the product''s.';
COMMENT ON COLUMN appstore.entitlement_terms.active_until IS
    'Until when it is active if no further fact comes: until, and access_settings.leeway while a renewal is awaited.';
COMMENT ON COLUMN appstore.entitlement_terms.will_renew IS
    'Whether the next period will be charged; null while it is unknown.';
COMMENT ON COLUMN appstore.entitlement_terms.seats IS
    'Of the purchaser of a group: bought, added, revoked, renewing and invitations (appstore.seats_of); null without seats.';
COMMENT ON COLUMN appstore.entitlement_terms.commitment_until IS
    'Until when the customer has committed to pay by the month; null without a commitment.';
COMMENT ON COLUMN appstore.entitlement_terms.commitment_will_renew IS 'Whether another commitment will follow; null while it is unknown.';
