-- Without a SET clause, so that PostgreSQL inlines it: conditions on environment and user_id then reach the index of the contracts.
CREATE OR REPLACE FUNCTION appstore.entitlements_at(at timestamptz) RETURNS SETOF appstore.entitlement
LANGUAGE sql STABLE AS $$
    SELECT e.environment, e.user_id, e.product_id, e.entitlement, coalesce(at < e.until, false), e.until,
           CASE WHEN at < e.until THEN CASE WHEN at >= e.grace_from THEN 'grace_period' ELSE 'active' END ELSE e.why_ended END,
           coalesce(at >= e.grace_from AND at < e.until, false),
           e.will_renew, e.original_transaction_id, e.bundle_id
    FROM appstore.entitlement_terms AS e
    WHERE e.user_id IS NOT NULL
$$;
COMMENT ON FUNCTION appstore.entitlements_at IS
    'The entitlements of each user at an instant, active and ended, by the facts known today.';
