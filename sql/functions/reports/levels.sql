-- How many subscriptions are active at the ends of days, and their MRR.
--
-- One pass over the charges: width_bucket finds the first and the last of the days that a charge is active at, and charges of the same two
-- days are one group. The groups add at the first day and subtract after the last one.
CREATE OR REPLACE FUNCTION appstore_reports.levels(days date[], by text, sandbox boolean)
RETURNS TABLE (day date, value text, currency text, subscriptions bigint, without_price bigint, in_grace bigint, trials bigint, mrr numeric,
               is_incomplete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET jit = off
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' SET enable_sort = off SET parallel_tuple_cost = 0.01 AS $$
#variable_conflict use_column
DECLARE
    v_ends        timestamptz[] := ARRAY(SELECT appstore_reports.end_of(d.day) FROM unnest(days) AS d (day) ORDER BY d.day);
    v_from        timestamptz := v_ends[1] - interval '90 days'; -- no grace period is as long
    -- The expression of the index transactions_by_expiry, where it leaves out most charges; otherwise processes share the whole table.
    v_recent      timestamp := CASE WHEN v_from > now() - interval '200 days' THEN v_from AT TIME ZONE 'UTC' END;
    v_environment appstore.environment := CASE WHEN sandbox THEN 'Sandbox' ELSE 'Production' END;
BEGIN
    PERFORM appstore_reports.check_arguments(by);
    -- The range is multiplied by all values and currencies.
    IF cardinality(days) > (CASE WHEN by IS NULL THEN 10000 ELSE 1100 END) THEN
        RAISE EXCEPTION 'the range has % days, at most 10000 are possible, or 1100 with by', cardinality(days)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH grouped AS (
        SELECT c.span, c.price_until, c.bundle_id, c.product_id, c.detail, c.currency,
               count(*) FILTER (WHERE NOT c.is_addition) AS n, count(*) FILTER (WHERE c.price IS NULL AND NOT c.is_addition) AS without_price,
               sum(c.price) AS price
        FROM (
            -- From which place on, after which place, from which place in grace, days, kind: 0 of the product's duration, 1 by its days, as
            -- introductory offers are, 2 a trial, 3 a month of a commitment. In one number, which is quick to hash, and of which the planner
            -- does not expect as many values as there are charges: so each process groups its share.
            SELECT ((width_bucket(c.purchase_date, v_ends) + 1)::bigint << 48) + ((width_bucket(c.counted_until, v_ends) + 1)::bigint << 32)
                   + ((width_bucket(least(c.expires_date, c.counted_until), v_ends) + 1)::bigint << 16)
                   + 4 * greatest(0, least(appstore_reports.days_between(c.period_start, c.expires_date), 16383))
                   + CASE WHEN c.is_trial THEN 2 WHEN c.is_intro THEN 1 WHEN c.plan_duration IS NOT NULL THEN 3 ELSE 0 END AS span,
                   -- The price ends earlier where this was refunded and seats that were added run on.
                   CASE WHEN c.ended_at < c.counted_until THEN width_bucket(c.ended_at, v_ends) + 1 END AS price_until,
                   c.bundle_id, c.product_id, c.currency, c.running_price AS price, c.is_addition,
                   appstore_reports.dimension(by, NULL, NULL, c.storefront, c.offer_type, c.offer_identifier, c.offer_discount_type,
                                              c.currency) AS detail,
                   clock_timestamp() AS barrier -- volatile, so that this stays a subquery
            FROM appstore_reports.charges AS c
            WHERE c.environment = v_environment AND c.is_subscription AND c.is_purchased AND c.purchase_date < v_ends[cardinality(v_ends)]
              AND c.expires_date > v_from AND (v_recent IS NULL OR c.expires_date AT TIME ZONE 'UTC' > v_recent)
        ) AS c
        GROUP BY c.span, c.price_until, c.bundle_id, c.product_id, c.detail, c.currency
    ), charged AS (
        SELECT g.first, g.after, greatest(g.first, coalesce(g.price_until, g.after)) AS price_after, g.grace,
               CASE by WHEN 'app' THEN g.bundle_id WHEN 'product' THEN g.product_id ELSE g.detail END AS value,
               g.currency, g.kind = 2 AS is_trial, g.n, g.without_price,
               CASE WHEN g.kind <> 2
                    THEN g.price * appstore_reports.times_a_month(CASE g.kind WHEN 3 THEN 'P1M' ELSE p.duration END, g.kind = 1, g.days)
                    END AS mrr
        FROM (
            SELECT g.*, g.span >> 48 AS first, g.span >> 32 & 65535 AS after, g.span >> 16 & 65535 AS grace,
                   (g.span >> 2 & 16383)::integer AS days, g.span & 3 AS kind
            FROM grouped AS g
        ) AS g
        LEFT JOIN (
            SELECT p.product_id, p.bundle_id, max(p.duration) AS duration FROM appstore.products AS p GROUP BY p.product_id, p.bundle_id
        ) AS p ON p.product_id = g.product_id AND p.bundle_id = g.bundle_id
        WHERE g.first < g.after
    ), change AS (
        SELECT g.first AS place, g.value, g.currency, CASE WHEN NOT g.is_trial THEN g.n ELSE 0 END AS paid,
               CASE WHEN NOT g.is_trial THEN g.without_price ELSE 0 END AS without_price, 0::bigint AS in_grace,
               CASE WHEN g.is_trial THEN g.n ELSE 0 END AS trials, g.mrr
        FROM charged AS g
        UNION ALL
        SELECT g.after, g.value, g.currency, CASE WHEN NOT g.is_trial THEN -g.n ELSE 0 END,
               CASE WHEN NOT g.is_trial THEN -g.without_price ELSE 0 END,
               CASE WHEN NOT g.is_trial AND g.grace < g.after THEN -g.n ELSE 0 END, CASE WHEN g.is_trial THEN -g.n ELSE 0 END, 0
        FROM charged AS g
        UNION ALL
        SELECT g.price_after, g.value, g.currency, 0, 0, 0, 0, -g.mrr FROM charged AS g
        UNION ALL
        SELECT greatest(g.grace, g.first), g.value, g.currency, 0, 0, g.n, 0, 0
        FROM charged AS g WHERE g.grace < g.after AND NOT g.is_trial
    ), running AS (
        SELECT d.place, d.day, k.value, k.currency,
               sum(sum(c.paid)) OVER key AS paid, sum(sum(c.without_price)) OVER key AS without_price,
               sum(sum(c.in_grace)) OVER key AS in_grace, sum(sum(c.trials)) OVER key AS trials, sum(sum(c.mrr)) OVER key AS mrr
        FROM (SELECT DISTINCT c.value, c.currency FROM change AS c) AS k
        CROSS JOIN (SELECT d.day, row_number() OVER (ORDER BY d.day) AS place FROM unnest(days) AS d (day)) AS d
        LEFT JOIN change AS c ON c.place = d.place AND c.value = k.value AND c.currency IS NOT DISTINCT FROM k.currency
        GROUP BY d.place, d.day, k.value, k.currency
        WINDOW key AS (PARTITION BY k.value, k.currency ORDER BY d.place)
    )
    SELECT r.day, r.value, r.currency, r.paid::bigint, r.without_price::bigint, r.in_grace::bigint, r.trials::bigint,
           round(coalesce(r.mrr, 0) * 0.001, 2), appstore_reports.end_of(r.day) >= now()
    -- Seats may be added in another currency, or without the offer of the subscription: then they are MRR without a subscription.
    FROM running AS r WHERE r.paid > 0 OR r.trials > 0 OR r.mrr > 0;
END
$$;
COMMENT ON FUNCTION appstore_reports.levels IS
    'What is active at the end of each day, by value and currency: see active_subscriptions and mrr, which read it.';
