CREATE OR REPLACE FUNCTION appstore_reports.retention(
    product text DEFAULT NULL, unit text DEFAULT 'month', first_day date DEFAULT NULL, last_day date DEFAULT NULL,
    sandbox boolean DEFAULT false)
RETURNS TABLE (bundle_id text, product_identifier text, product_duration text, cohort date, period_number integer, cohort_size bigint,
               subscriptions bigint, refunded bigint, retained bigint, retention numeric, is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' SET parallel_tuple_cost = 0.01 AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(NULL, unit);
    RETURN QUERY
    WITH paid AS ( -- 1. charges of the standard price: a cohort begins with the first of them
        SELECT c.bundle_id, c.product_id, c.plan_duration, c.original_transaction_id, c.purchase_date::date AS day, c.is_refunded,
               min(c.purchase_date::date) OVER subscription AS began,
               max(c.expires_date::date - c.purchase_date::date) OVER subscription AS length,
               bool_or(c.is_first_known) OVER subscription AS is_cut
        FROM appstore_reports.numbered AS c
        WHERE c.environment = v_environment AND c.is_subscription AND c.is_purchased AND NOT c.is_addition AND NOT c.is_trial
          AND NOT c.is_intro
          AND c.expires_date IS NOT NULL AND c.purchase_date < now() AND c.product_id = coalesce(product, c.product_id)
        WINDOW subscription AS (PARTITION BY c.bundle_id, c.product_id, c.plan_duration, c.original_transaction_id)
    ), timed AS ( -- 2. with the duration of the plan or the product, else that of the subscription's longest period
        SELECT p.*, CASE coalesce(p.plan_duration, d.duration, '')
                    WHEN 'P7D' THEN 'P1W' WHEN 'P30D' THEN 'P1M' WHEN 'P4W' THEN 'P1M' WHEN 'P12M' THEN 'P1Y'
                    WHEN '' THEN CASE WHEN p.length BETWEEN 0 AND 1 THEN 'P1D' WHEN p.length = 3 THEN 'P3D'
                                      WHEN p.length BETWEEN 6 AND 8 THEN 'P1W' WHEN p.length BETWEEN 12 AND 16 THEN 'P2W'
                                      WHEN p.length BETWEEN 27 AND 37 THEN 'P1M' WHEN p.length BETWEEN 58 AND 62 THEN 'P2M'
                                      WHEN p.length BETWEEN 88 AND 95 THEN 'P3M' WHEN p.length BETWEEN 179 AND 185 THEN 'P6M'
                                      WHEN p.length BETWEEN 363 AND 375 THEN 'P1Y' END
                    ELSE coalesce(p.plan_duration, d.duration) END AS duration
        FROM paid AS p
        LEFT JOIN (
            SELECT q.product_id, q.bundle_id, max(q.duration) AS duration FROM appstore.products AS q GROUP BY q.product_id, q.bundle_id
        ) AS d ON d.product_id = p.product_id AND d.bundle_id = p.bundle_id
        WHERE NOT p.is_cut AND (first_day IS NULL OR p.began >= date_trunc(unit, first_day::timestamp))
          AND (last_day IS NULL OR date_trunc(unit, p.began::timestamp) <= last_day)
    ), placed AS ( -- 3. each subscription in the periods that it paid
        SELECT t.bundle_id, t.product_id, t.duration, date_trunc(unit, t.began::timestamp)::date AS cohort, t.original_transaction_id,
               round((t.day - t.began) / l.days)::integer AS place, l.days, bool_and(t.is_refunded) AS is_refunded
        FROM timed AS t
        JOIN (VALUES ('P1D', 1.0), ('P3D', 3), ('P1W', 7), ('P2W', 14), ('P1M', 30.4375), ('P2M', 60.875), ('P3M', 91.3125),
                     ('P6M', 182.625), ('P1Y', 365.25)) AS l (duration, days) ON l.duration = t.duration
        GROUP BY t.bundle_id, t.product_id, t.duration, date_trunc(unit, t.began::timestamp)::date, t.original_transaction_id,
                 round((t.day - t.began) / l.days)::integer, l.days
    ), counted AS (
        SELECT p.bundle_id, p.product_id, p.duration, p.cohort, p.days, p.place, count(*) AS n,
               count(*) FILTER (WHERE p.is_refunded) AS refunded
        FROM placed AS p GROUP BY p.bundle_id, p.product_id, p.duration, p.cohort, p.days, p.place
    ), cohorts AS (
        SELECT c.bundle_id, c.product_id, c.duration, c.cohort, c.days, c.n AS size, r.next
        FROM counted AS c CROSS JOIN LATERAL appstore_reports.periods(c.cohort, c.cohort, unit) AS r
        WHERE c.place = 0
    )
    SELECT k.bundle_id, k.product_id, k.duration, k.cohort, s.place, k.size, coalesce(c.n, 0), coalesce(c.refunded, 0),
           coalesce(c.n - c.refunded, 0), round(coalesce(c.n - c.refunded, 0)::numeric / k.size, 6),
           k.next + (s.place * k.days)::double precision * interval '1 day' > now()
    FROM cohorts AS k
    CROSS JOIN LATERAL (SELECT max(c.place) FROM counted AS c WHERE c.bundle_id = k.bundle_id AND c.product_id = k.product_id
                                                                   AND c.duration = k.duration) AS last (place)
    CROSS JOIN LATERAL generate_series(0, last.place) AS s (place)
    LEFT JOIN counted AS c ON c.bundle_id = k.bundle_id AND c.product_id = k.product_id AND c.duration = k.duration AND c.cohort = k.cohort
                          AND c.place = s.place
    WHERE k.cohort + (s.place * k.days)::double precision * interval '1 day' <= now()
    ORDER BY k.bundle_id COLLATE "C", k.product_id COLLATE "C", k.duration, k.cohort, s.place;
END
$$;
COMMENT ON FUNCTION appstore_reports.retention IS
    'Cohorts by the unit (day, week, month, quarter, year) of the first paid charge of a product, without trials and introductory offers, and how '
    'many of each paid in the following periods of the product''s duration: period 0 is the first one. A change of product, or of its '
    'payment by the year or by the month, begins another cohort, a refunded period is not retained, and a customer who returns is. Always of the '
    'size of the cohort. Subscriptions whose beginning is not known are left out. product null for all.';
