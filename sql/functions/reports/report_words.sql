-- What the reports share: their arguments, and how a charge is grouped and weighed. Functions without SET are inlined.

CREATE OR REPLACE FUNCTION appstore_reports.dimension(
    by text, bundle_id text, product_id text, storefront text, offer_type integer, offer_identifier text, offer_discount_type text,
    currency text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE by
        WHEN 'app' THEN bundle_id
        WHEN 'product' THEN product_id
        WHEN 'storefront' THEN coalesce(storefront, 'unknown')
        WHEN 'offer' THEN coalesce(offer_identifier, CASE WHEN offer_type = 1 THEN 'introductory' END, offer_discount_type, 'none')
        WHEN 'currency' THEN coalesce(currency, 'unknown')
        ELSE 'all' END
$$;
COMMENT ON FUNCTION appstore_reports.dimension IS 'The value by which a report groups a charge: see the argument by of the reports.';

CREATE OR REPLACE FUNCTION appstore_reports.days_between(start_at timestamptz, end_at timestamptz) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- An interval, and not the name UTC, which PostgreSQL would look up for each row.
    SELECT (end_at AT TIME ZONE interval '0')::date - (start_at AT TIME ZONE interval '0')::date
$$;
COMMENT ON FUNCTION appstore_reports.days_between IS 'The days (UTC) from one instant to another.';

CREATE OR REPLACE FUNCTION appstore_reports.times_a_month(duration text, is_by_days boolean, days integer)
RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE CASE WHEN is_by_days THEN NULL ELSE duration END
        WHEN 'P1D' THEN 30.0
        WHEN 'P3D' THEN 10.0
        WHEN 'P7D' THEN 4.0 WHEN 'P1W' THEN 4.0
        WHEN 'P2W' THEN 2.0
        WHEN 'P4W' THEN 1.0 WHEN 'P1M' THEN 1.0
        WHEN 'P2M' THEN 1.0 / 2
        WHEN 'P3M' THEN 1.0 / 3
        WHEN 'P6M' THEN 1.0 / 6
        WHEN 'P12M' THEN 1.0 / 12 WHEN 'P1Y' THEN 1.0 / 12
        ELSE CASE
            WHEN NOT is_by_days AND duration IS NOT NULL THEN 28.0 / nullif(days, 0)
            WHEN days BETWEEN 27 AND 33 THEN 1.0
            WHEN days BETWEEN 363 AND 375 THEN 1.0 / 12
            WHEN days BETWEEN 6 AND 8 THEN 4.0
            WHEN days BETWEEN 88 AND 95 THEN 1.0 / 3
            WHEN days BETWEEN 179 AND 185 THEN 1.0 / 6
            WHEN days BETWEEN 58 AND 62 THEN 1.0 / 2
            WHEN days BETWEEN 12 AND 16 THEN 2.0
            WHEN days = 3 THEN 10.0
            WHEN days BETWEEN 0 AND 1 THEN 30.0
            ELSE 28.0 / nullif(days, 0) END
        END
$$;
COMMENT ON FUNCTION appstore_reports.times_a_month IS
    'By what the price of a period is multiplied for MRR: by the duration of the product, or by the days of the period where that is unknown or '
    'it is an introductory offer.';

CREATE OR REPLACE FUNCTION appstore_reports.end_of(day date) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT least((day + 1)::timestamp AT TIME ZONE 'UTC', now())
$$;
COMMENT ON FUNCTION appstore_reports.end_of IS 'The instant (UTC) that counts for a day: its end, or now while it lasts.';

CREATE OR REPLACE FUNCTION appstore_reports.usd_rate(currency text, day date) RETURNS numeric LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN usd_rate.currency = 'USD' THEN 1 ELSE (
        SELECT f.per_unit FROM appstore.fx_rates AS f
        WHERE f.currency = usd_rate.currency AND f.day <= usd_rate.day ORDER BY f.day DESC LIMIT 1) END
$$;
COMMENT ON FUNCTION appstore_reports.usd_rate IS
    'US dollars for one unit of the currency on a day, by appstore.fx_rates; null without a rate.';

CREATE OR REPLACE FUNCTION appstore_reports.check_arguments(by text, every text DEFAULT 'day') RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF by NOT IN ('app', 'product', 'storefront', 'offer', 'currency') THEN
        RAISE EXCEPTION 'by is %, it must be null, app, product, storefront, offer or currency', by
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF every IS NULL OR every NOT IN ('day', 'week', 'month', 'quarter', 'year') THEN
        RAISE EXCEPTION 'the length of a period is %, it must be day, week, month, quarter or year', coalesce(every, 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;
COMMENT ON FUNCTION appstore_reports.check_arguments IS 'Raises 22023 for a word that the reports do not know.';

CREATE OR REPLACE FUNCTION appstore_reports.periods(first_day date, last_day date, every text)
RETURNS TABLE (period date, next date) LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_length interval := CASE every WHEN 'quarter' THEN interval '3 months' ELSE ('1 ' || every)::interval END;
    v_last   date := least(last_day, (statement_timestamp() AT TIME ZONE 'UTC')::date);
BEGIN
    IF NOT (isfinite(first_day) AND isfinite(v_last)) OR extract(epoch FROM v_length) / 86400 * 10000 < v_last - first_day THEN
        RAISE EXCEPTION 'the range from % to % has more than 10000 periods of a %', first_day, last_day, every
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT p.start::date, (p.start + v_length)::date
    FROM generate_series(date_trunc(every, first_day::timestamp), v_last::timestamp, v_length) AS p (start);
END
$$;
COMMENT ON FUNCTION appstore_reports.periods IS
    'The periods that overlap a range of days and have begun, each with the first day of the next one. Raises 22023 for more than 10,000.';
