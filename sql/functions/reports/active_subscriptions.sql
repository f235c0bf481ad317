CREATE OR REPLACE FUNCTION appstore_reports.subscriptions_daily(first_day date, last_day date, by text DEFAULT NULL, sandbox boolean DEFAULT false)
RETURNS TABLE (day date, value text, subscriptions bigint, in_grace bigint, trials bigint, is_incomplete boolean)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 1000 SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.day, l.value, sum(l.subscriptions)::bigint, sum(l.in_grace)::bigint, sum(l.trials)::bigint, l.is_incomplete
    FROM appstore_reports.levels(
        ARRAY(SELECT p.period FROM appstore_reports.periods(first_day, last_day, 'day') AS p), by, sandbox) AS l
    GROUP BY l.day, l.value, l.is_incomplete
    HAVING sum(l.subscriptions) > 0 OR sum(l.trials) > 0
    ORDER BY l.day, l.value COLLATE "C"
$$;
COMMENT ON FUNCTION appstore_reports.subscriptions_daily IS
    'active_subscriptions at the end of each day of a range. A day without any has no row.';

CREATE OR REPLACE FUNCTION appstore_reports.active_subscriptions(
    at date DEFAULT (now() AT TIME ZONE 'UTC')::date, by text DEFAULT NULL, sandbox boolean DEFAULT false)
RETURNS TABLE (day date, value text, subscriptions bigint, in_grace bigint, trials bigint, is_incomplete boolean)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM appstore_reports.subscriptions_daily(at, at, by, sandbox)
$$;
COMMENT ON FUNCTION appstore_reports.active_subscriptions IS
    'Subscriptions that are paid and have not ended at the end of the day (UTC), or now if the day lasts. Grace periods and those that will not '
    'renew count; trials (a column of their own), family members and who was assigned a seat do not. A group is one subscription, '
    'whatever its seats. by is app, product, storefront, offer or currency.';
