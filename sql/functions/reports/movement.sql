CREATE OR REPLACE FUNCTION appstore_reports.movement(
    first_day date, last_day date, by text DEFAULT NULL, every text DEFAULT 'month', sandbox boolean DEFAULT false)
RETURNS TABLE (period date, value text, new_subscriptions bigint, first_known bigint, renewals bigint, expirations bigint, churned bigint,
               net bigint, is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' SET parallel_tuple_cost = 0.01 AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
    v_from        timestamptz;
    v_to          timestamptz;
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    SELECT min(p.period)::timestamptz, max(p.next)::timestamptz INTO v_from, v_to
    FROM appstore_reports.periods(first_day, last_day, every) AS p;
    RETURN QUERY
    WITH paid AS (
        SELECT n.purchase_date, n.counted_until, n.is_first_known, (n.renewal_number = 1 OR n.is_trial_conversion) AND NOT n.is_first_known AS is_new,
               appstore_reports.dimension(by, n.bundle_id, n.product_id, n.storefront, n.offer_type, n.offer_identifier,
                                          n.offer_discount_type, n.currency) AS value
        FROM appstore_reports.numbered AS n
        WHERE n.environment = v_environment AND n.is_subscription AND n.is_purchased AND NOT n.is_addition AND NOT n.is_trial
          AND n.expires_date > n.purchase_date
          AND n.purchase_date < now() -- Apple charges up to a day ahead
          AND least(n.purchase_date, n.counted_until) < v_to AND greatest(n.purchase_date, n.counted_until) >= v_from
    ), happened AS (
        SELECT date_trunc(every, v.at)::date AS period, p.value, sum(v.began) AS began, sum(v.found) AS found, sum(v.renewed) AS renewed,
               sum(v.ended) AS ended
        FROM paid AS p
        CROSS JOIN LATERAL (VALUES (p.purchase_date, p.is_new::integer, p.is_first_known::integer,
                                    (NOT p.is_new AND NOT p.is_first_known)::integer, 0),
                                   (p.counted_until, 0, 0, 0, 1)) AS v (at, began, found, renewed, ended)
        WHERE v.at <= now()
        GROUP BY date_trunc(every, v.at)::date, p.value
    )
    SELECT r.period, h.value, h.began, h.found, h.renewed, h.ended, h.ended - h.renewed, h.began + h.found - h.ended + h.renewed, r.next > now()
    FROM appstore_reports.periods(first_day, last_day, every) AS r
    JOIN happened AS h ON h.period = r.period
    ORDER BY r.period, h.value COLLATE "C";
END
$$;
COMMENT ON FUNCTION appstore_reports.movement IS
    'How active_subscriptions moved in each period of a range: new ones (the first paid charge of a contract), less churned ones (those that '
    'ended, less renewals). first_known counts contracts that began before their first known charge: they are neither new nor renewed. A '
    'customer who returns is a renewal, so churned may be negative. every is day, week, month, quarter or year.';

CREATE OR REPLACE FUNCTION appstore_reports.churn(
    first_day date, last_day date, by text DEFAULT NULL, every text DEFAULT 'month', sandbox boolean DEFAULT false)
RETURNS TABLE (period date, value text, active_at_start bigint, churned bigint, churn_rate numeric, is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore_reports.check_arguments(by, every);
    RETURN QUERY
    WITH active AS (
        SELECT (l.day + 1) AS period, l.value, sum(l.subscriptions)::bigint AS subscriptions
        FROM appstore_reports.levels(
            ARRAY(SELECT p.period - 1 FROM appstore_reports.periods(first_day, last_day, every) AS p), by, sandbox) AS l
        WHERE l.subscriptions > 0
        GROUP BY l.day, l.value
    )
    SELECT coalesce(a.period, m.period), coalesce(a.value, m.value), coalesce(a.subscriptions, 0), coalesce(m.churned, 0),
           round(coalesce(m.churned, 0)::numeric / nullif(a.subscriptions, 0), 6),
           coalesce(m.is_incomplete, (SELECT p.next > now()
                                      FROM appstore_reports.periods(a.period, a.period, every) AS p))
    FROM active AS a
    FULL JOIN appstore_reports.movement(first_day, last_day, by, every, sandbox) AS m ON m.period = a.period AND m.value = a.value
    ORDER BY coalesce(a.period, m.period), coalesce(a.value, m.value) COLLATE "C";
END
$$;
COMMENT ON FUNCTION appstore_reports.churn IS
    'For each period of a range the churned subscriptions of movement, divided by those that were active when the period began.';
