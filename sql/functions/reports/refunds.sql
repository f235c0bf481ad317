CREATE OR REPLACE FUNCTION appstore_reports.refunds(
    first_day date, last_day date, by text DEFAULT NULL, every text DEFAULT 'month', sandbox boolean DEFAULT false)
RETURNS TABLE (period date, value text, currency text, transactions bigint, refunded bigint, refund_rate numeric, gross numeric,
               refunded_amount numeric, revenue numeric, is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    RETURN QUERY
    SELECT s.period, s.value, s.currency, s.n, s.refunded, round(s.refunded::numeric / s.n, 6), round(s.gross * 0.001, 2),
           round(s.lost * 0.00000001, 2), round(s.gross * 0.001 - s.lost * 0.00000001, 2), r.next > now()
    FROM (
        SELECT date_trunc(every, c.purchase_date)::date AS period,
               appstore_reports.dimension(by, c.bundle_id, c.product_id, c.storefront, c.offer_type, c.offer_identifier,
                                          c.offer_discount_type, c.currency) AS value,
               c.currency, count(*) AS n, count(*) FILTER (WHERE c.refunded_at IS NOT NULL OR c.refunded_percentage > 0) AS refunded,
               coalesce(sum(c.price), 0) AS gross,
               coalesce(sum(CASE WHEN c.refunded_at IS NOT NULL THEN c.price::numeric * c.refunded_percentage
                                 WHEN c.refunded_percentage > 0 THEN (c.price - c.running_price) * 100000.0 END), 0) AS lost
        FROM appstore_reports.charges AS c
        WHERE c.environment = v_environment AND c.is_purchased AND NOT c.is_trial AND c.price IS DISTINCT FROM 0
          AND c.purchase_date >= date_trunc(every, first_day::timestamp)
        GROUP BY 1, 2, 3
    ) AS s
    JOIN appstore_reports.periods(first_day, last_day, every) AS r ON r.period = s.period
    ORDER BY s.period, s.value COLLATE "C", s.currency COLLATE "C";
END
$$;
COMMENT ON FUNCTION appstore_reports.refunds IS
    'Paid charges of subscriptions and single purchases, how many of them were refunded since, in full or in part, and the revenue that is left. '
    'A refund belongs to the period of the purchase, so figures of the past change. Apple advises against using price for financial '
    'reconciliation.';
