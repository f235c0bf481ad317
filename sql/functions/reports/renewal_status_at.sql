CREATE OR REPLACE FUNCTION appstore_reports.renewal_status_at(
    at date DEFAULT (now() AT TIME ZONE 'UTC')::date, by text DEFAULT NULL, sandbox boolean DEFAULT false)
RETURNS TABLE (day date, value text, status text, subscriptions bigint, is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
    v_end         timestamptz := appstore_reports.end_of(at);
    v_from        timestamptz := v_end - interval '90 days'; -- as in appstore_reports.levels
    v_recent      timestamp := CASE WHEN v_from > now() - interval '200 days' THEN v_from AT TIME ZONE 'UTC' END;
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by);
    RETURN QUERY
    SELECT at, s.value, s.status, count(*), v_end >= now()
    FROM (
        SELECT appstore_reports.dimension(by, c.bundle_id, c.product_id, c.storefront, c.offer_type, c.offer_identifier,
                                          c.offer_discount_type, c.currency) AS value,
               CASE WHEN c.expires_date < v_end THEN 'billing_issue'
                    WHEN coalesce(e.kind = 'will_not_renew', NOT m.will_renew) THEN 'set_to_cancel'
                    ELSE 'set_to_renew' END AS status
        FROM appstore_reports.charges AS c
        LEFT JOIN LATERAL (
            SELECT e.kind FROM appstore.effect_log AS e
            WHERE e.original_transaction_id = c.original_transaction_id AND e.environment = c.environment
              AND e.kind IN ('will_renew', 'will_not_renew')
              AND e.occurred_at >= c.committed_at AND e.occurred_at < v_end
            ORDER BY e.occurred_at DESC, e.kind DESC
            LIMIT 1
        ) AS e ON true
        -- Without such an effect, what the register of the current period says, if it said so by then. The contract names one of the period's
        -- charges, which may be seats that were added.
        LEFT JOIN LATERAL (
            SELECT m.will_renew AND m.commitment_will_renew IS NOT FALSE AS will_renew FROM appstore.contracts AS m
            WHERE m.original_transaction_id = c.original_transaction_id AND m.environment = c.environment
              AND (m.current_transaction_id = c.transaction_id OR m.product_id = c.product_id AND m.current_period_end = c.expires_date)
              AND m.renewal_signed_date < v_end OFFSET 0
        ) AS m ON true
        WHERE c.environment = v_environment AND c.is_subscription AND c.is_purchased AND NOT c.is_addition AND NOT c.is_trial
          AND c.purchase_date < v_end AND c.counted_until >= v_end
          AND c.expires_date > v_from AND (v_recent IS NULL OR c.expires_date AT TIME ZONE 'UTC' > v_recent)
    ) AS s
    GROUP BY s.value, s.status
    ORDER BY s.value COLLATE "C", s.status;
END
$$;
COMMENT ON FUNCTION appstore_reports.renewal_status_at IS
    'active_subscriptions by what was to happen to them at the end of the day (UTC): set_to_renew, set_to_cancel, or billing_issue for a grace '
    'period. By the effects will_renew and will_not_renew, so also of the past.';
