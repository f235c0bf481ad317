-- Without a SET clause, so that PostgreSQL inlines it: conditions on environment and user_id then reach the index of the contracts.
CREATE OR REPLACE FUNCTION appstore.entitlements_at(at timestamptz) RETURNS SETOF appstore.entitlement
LANGUAGE sql STABLE AS $$
    SELECT e.environment, e.user_id, e.product_id, e.entitlement, appstore.is_active(at, e.active_until), e.until,
           appstore.access_state(at, e.until, e.active_until, e.grace_from, e.why_ended), appstore.is_in_grace(at, e.until, e.grace_from),
           e.will_renew, e.original_transaction_id, e.bundle_id, e.seats, e.commitment_until, e.commitment_will_renew
    FROM appstore.entitlement_terms AS e
    WHERE e.user_id IS NOT NULL
$$;
COMMENT ON FUNCTION appstore.entitlements_at IS
    'The entitlements of each user at an instant, active and ended, by the facts known today and the leeway of today.';
