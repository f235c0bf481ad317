CREATE OR REPLACE FUNCTION appstore_reports.trials(
    first_day date, last_day date, by text DEFAULT NULL, every text DEFAULT 'month', sandbox boolean DEFAULT false)
RETURNS TABLE (period date, value text, trials bigint, converted bigint, refunded bigint, pending bigint, conversion_rate numeric,
               is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' SET parallel_tuple_cost = 0.01 AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    RETURN QUERY
    WITH trial AS (
        SELECT date_trunc(every, n.purchase_date)::date AS period,
               appstore_reports.dimension(by, n.bundle_id, n.product_id, n.storefront, n.offer_type, n.offer_identifier,
                                          n.offer_discount_type, n.currency) AS value,
               n.next_is_trial IS FALSE AND NOT n.next_is_refunded AS is_converted,
               n.next_is_trial IS FALSE AND n.next_is_refunded AS is_refunded,
               n.next_is_trial IS NULL AND appstore.is_active(now(), n.counted_until) AS is_open,
               n.original_transaction_id
        FROM appstore_reports.numbered AS n
        WHERE n.environment = v_environment AND n.is_subscription AND n.is_purchased AND n.is_trial AND NOT n.is_addition
    )
    SELECT r.period, t.value, count(*), count(*) FILTER (WHERE t.is_converted), count(*) FILTER (WHERE t.is_refunded),
           count(*) FILTER (WHERE t.is_open AND m.will_renew IS NOT FALSE),
           round(count(*) FILTER (WHERE t.is_converted)::numeric / count(*), 6),
           r.next > now() OR bool_or(t.is_open)
    FROM appstore_reports.periods(first_day, last_day, every) AS r
    JOIN trial AS t ON t.period = r.period
    LEFT JOIN appstore.contracts AS m ON m.original_transaction_id = t.original_transaction_id AND m.environment = v_environment
                                     AND t.is_open
    GROUP BY r.period, r.next, t.value
    ORDER BY r.period, t.value COLLATE "C";
END
$$;
COMMENT ON FUNCTION appstore_reports.trials IS
    'Free trials by the period in which they began, and how many became paid: converted have a paid charge as their next one, however late, '
    'refunded one that was refunded since, pending have not ended and will renew. All others were abandoned. A period is incomplete until its '
    'last trial ended.';
