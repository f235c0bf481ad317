CREATE OR REPLACE FUNCTION appstore_reports.mrr_of_days(days date[], by text, sandbox boolean)
RETURNS TABLE (day date, value text, currency text, subscriptions bigint, without_price bigint, mrr numeric, mrr_usd numeric,
               is_incomplete boolean)
LANGUAGE sql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.day, l.value, l.currency, l.subscriptions, l.without_price, l.mrr,
           round(l.mrr * appstore_reports.usd_rate(l.currency, l.day), 2), l.is_incomplete
    FROM appstore_reports.levels(days, by, sandbox) AS l
    WHERE l.subscriptions > 0 OR l.mrr > 0
    ORDER BY l.day, l.value COLLATE "C", l.currency COLLATE "C"
$$;
COMMENT ON FUNCTION appstore_reports.mrr_of_days IS 'What mrr and mrr_by_month return, for any days.';

CREATE OR REPLACE FUNCTION appstore_reports.mrr(
    at date DEFAULT (now() AT TIME ZONE 'UTC')::date, by text DEFAULT NULL, sandbox boolean DEFAULT false)
RETURNS TABLE (day date, value text, currency text, subscriptions bigint, without_price bigint, mrr numeric, mrr_usd numeric,
               is_incomplete boolean)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM appstore_reports.mrr_of_days(ARRAY[at], by, sandbox)
$$;
COMMENT ON FUNCTION appstore_reports.mrr IS
    'Monthly recurring revenue at the end of the day (UTC), in units of each currency: the prices of active_subscriptions, each by the duration '
    'of its product: a day ×30, 3 days ×10, a week ×4, 2 weeks ×2, 4 weeks or a month ×1, 2 months 1/2, 3 months 1/3, 6 months 1/6, a year 1/12. '
    'A month of a yearly commitment counts ×1, whatever the duration of the product. Seats that are added to a group count from then on, as if '
    'their price were that of a whole period: Apple does not say whether it is prorated. By their own offer and currency, so a row may have no '
    'subscription. Refunded seats are left out from their purchase on, since transactions do not say when Apple refunded them: figures of the '
    'past change. mrr_usd is by the rate of the day in appstore.fx_rates. without_price counts those of which only a receipt is known. Apple '
    'advises against using price for financial reconciliation.';

CREATE OR REPLACE FUNCTION appstore_reports.mrr_by_month(first_day date, last_day date, by text DEFAULT NULL, sandbox boolean DEFAULT false)
RETURNS TABLE (day date, value text, currency text, subscriptions bigint, without_price bigint, mrr numeric, mrr_usd numeric,
               is_incomplete boolean)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 100 SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM appstore_reports.mrr_of_days(
        ARRAY(SELECT p.next - 1 FROM appstore_reports.periods(first_day, last_day, 'month') AS p), by, sandbox)
$$;
COMMENT ON FUNCTION appstore_reports.mrr_by_month IS
    'mrr at the end of each month that overlaps the range; of a month that lasts, now, and flagged. Apple advises against using price for '
    'financial reconciliation.';
