-- Without a SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION appstore.access_of(p_environment appstore.environment, p_contract text, p_at timestamptz)
RETURNS TABLE (entitlement text, user_id text, product_id text, active boolean, until timestamptz, why text, turns_at timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT e.entitlement, e.user_id, e.product_id, appstore.is_active(p_at, e.active_until), e.until,
           appstore.access_state(p_at, e.until, e.active_until, e.grace_from, e.why_ended),
           appstore.access_turns_at(p_at, e.until, e.active_until, e.grace_from)
    FROM appstore.entitlement_terms AS e
    WHERE e.original_transaction_id = p_contract AND e.environment = p_environment AND e.user_id IS NOT NULL
$$;
COMMENT ON FUNCTION appstore.access_of IS
    'The rows of appstore.entitlements_at for a contract, and when the clock alone changes each next (turns_at; null for never).';
