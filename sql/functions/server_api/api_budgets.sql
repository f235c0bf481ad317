-- The arithmetic of the budget. Its clock is that of the database, read when the row is locked.

CREATE OR REPLACE FUNCTION appstore.api_allowance(setting double precision, lowered_to double precision, last_429_at timestamptz, instant timestamptz)
RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN last_429_at IS NULL THEN setting
                ELSE least(setting, lowered_to + setting * 0.1 * greatest(extract(epoch FROM instant - last_429_at)::double precision, 0) / 3600) END
$$;
COMMENT ON FUNCTION appstore.api_allowance IS
    'The requests a second that a budget allows at an instant: its setting, or what the latest 429 has left of it and a tenth of the setting for '
    'each hour since.';

CREATE OR REPLACE FUNCTION appstore.take_api_budget(
    bundle_id text, environment appstore.environment, endpoint text, setting double precision, class integer, wanted integer,
    OUT granted integer, OUT wait interval, OUT is_blocked boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- The part of a full bucket that each class leaves to the more urgent ones.
    c_levels    CONSTANT double precision[] := ARRAY[0, 0.1, 0.25, 0.4, 0.6];
    v_budget    appstore.api_budgets;
    v_now       timestamptz;
    v_allowance double precision;
    v_capacity  double precision;
    v_level     double precision;
BEGIN
    -- All workers need the row, and a crash may forget what was taken: do not hold it until the commit is on disk and on a standby.
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM appstore.check_argument(class BETWEEN 0 AND 4, format('there is no class %s', class), 'Classes are 0 to 4.');
    PERFORM appstore.check_argument(wanted >= 1, format('%s requests cannot be taken', wanted), 'At least one is.');
    INSERT INTO appstore.api_budgets AS b (bundle_id, environment, endpoint, setting, tokens)
    SELECT take_api_budget.bundle_id, take_api_budget.environment, take_api_budget.endpoint, take_api_budget.setting,
           greatest(take_api_budget.setting, 5)
    WHERE NOT EXISTS (
        SELECT FROM appstore.api_budgets AS b
        WHERE b.bundle_id = take_api_budget.bundle_id AND b.environment = take_api_budget.environment
          AND b.endpoint = take_api_budget.endpoint)
    ON CONFLICT DO NOTHING;
    SELECT b.* INTO STRICT v_budget FROM appstore.api_budgets AS b
    WHERE b.bundle_id = take_api_budget.bundle_id AND b.environment = take_api_budget.environment AND b.endpoint = take_api_budget.endpoint
    FOR NO KEY UPDATE;
    v_now := clock_timestamp();
    -- A clock that was ahead for a while has left times that would never come.
    IF v_budget.blocked_until > v_now + interval '1 hour 5 seconds' THEN
        v_budget.blocked_until := v_now + interval '1 hour 5 seconds';
    END IF;
    v_budget.refilled_at := least(v_budget.refilled_at, greatest(v_budget.blocked_until, v_now));
    v_allowance := appstore.api_allowance(take_api_budget.setting, v_budget.lowered_to, v_budget.last_429_at, v_now);
    v_capacity := greatest(v_allowance, 5);
    v_level := c_levels[class + 1] * v_capacity;
    v_budget.tokens := least(v_capacity, v_budget.tokens
                             + v_allowance * greatest(extract(epoch FROM v_now - v_budget.refilled_at)::double precision, 0));
    is_blocked := coalesce(v_budget.blocked_until > v_now, false);
    granted := 0;
    IF is_blocked THEN
        wait := v_budget.blocked_until - v_now;
        RETURN;
    ELSIF v_budget.tokens < v_level + 1 THEN
        wait := (v_level + 1 - v_budget.tokens) / v_allowance * interval '1 second';
        RETURN;
    END IF;
    granted := least(wanted, floor(v_budget.tokens - v_level)::integer, ceil(v_allowance)::integer);
    wait := interval '0';
    UPDATE appstore.api_budgets AS b
    SET setting = take_api_budget.setting, tokens = v_budget.tokens - granted, refilled_at = v_now,
        hour_began = date_trunc('hour', v_now, 'UTC'), last_class = take_api_budget.class,
        used_this_hour = CASE WHEN b.hour_began = date_trunc('hour', v_now, 'UTC') THEN b.used_this_hour ELSE 0 END + granted
    WHERE b.bundle_id = take_api_budget.bundle_id AND b.environment = take_api_budget.environment AND b.endpoint = take_api_budget.endpoint;
END
$$;
COMMENT ON FUNCTION appstore.take_api_budget IS
    'Takes requests from a budget: at least one of those wanted and at most a second''s worth, or none. Then wait is the time until the class '
    'may ask again, and is_blocked says whether a 429 is the reason. Class 0 takes all that is left, 1 to 4 leave 10, 25, 40 and 60 percent of the '
    'bucket. setting is the requests a second that the caller''s settings allow.';

CREATE OR REPLACE FUNCTION appstore.block_api_endpoint(
    bundle_id text, environment appstore.environment, endpoint text, delay interval /* null */) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_budget appstore.api_budgets;
    v_now    timestamptz;
    v_until  timestamptz;
BEGIN
    SELECT b.* INTO v_budget FROM appstore.api_budgets AS b
    WHERE b.bundle_id = block_api_endpoint.bundle_id AND b.environment = block_api_endpoint.environment
      AND b.endpoint = block_api_endpoint.endpoint
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_now := clock_timestamp();
    -- Without a usable delay a minute; never for longer than Apple counts.
    IF v_budget.blocked_until > v_now + interval '1 hour 5 seconds' THEN
        v_budget.blocked_until := v_now + interval '1 hour 5 seconds';
    END IF;
    v_until := greatest(v_budget.blocked_until, v_now
                        + least(greatest(coalesce(delay, interval '1 minute'), interval '0'), interval '1 hour') + random() * interval '5 seconds');
    UPDATE appstore.api_budgets AS b
    SET blocked_until = v_until, tokens = 0, refilled_at = v_until, last_429_at = v_now,
        -- Requests that were in flight together are refused together.
        lowered_to = CASE WHEN v_budget.blocked_until > v_now THEN b.lowered_to
                          ELSE greatest(b.setting * 0.05, 0.7 * appstore.api_allowance(b.setting, b.lowered_to, b.last_429_at, v_now)) END
    WHERE b.bundle_id = v_budget.bundle_id AND b.environment = v_budget.environment AND b.endpoint = v_budget.endpoint;
END
$$;
COMMENT ON FUNCTION appstore.block_api_endpoint IS
    'Records a 429: nothing is taken from the budget for the delay that Apple asks for, and up to five seconds more; and the allowance becomes 70 '
    'percent, once for each block. delay: null where Apple asks for none. A budget from which nothing was ever taken does not change.';
