CREATE OR REPLACE FUNCTION appstore.plan_history(p_bundle_ids text[], p_environments appstore.environment[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    c_open   CONSTANT integer := 96; -- open near windows; then the next one grows until there is room
    v_now    timestamptz := date_trunc('milliseconds', clock_timestamp());
    v_cursor appstore.history_cursors;
    v_bundle text;
    v_environment appstore.environment;
    v_end    timestamptz;
    v_room   integer;
    v_result integer := 0;
BEGIN
    FOR v_bundle, v_environment IN
        SELECT DISTINCT l.b, l.e FROM unnest(p_bundle_ids, p_environments) AS l (b, e) ORDER BY 1, 2
    LOOP
        -- 1. A new app: the last 30 days. Days that are older than eight need no second walk.
        v_end := date_bin('15 minutes', v_now - interval '5 minutes', 'epoch');
        INSERT INTO appstore.history_cursors (bundle_id, environment, since, anchor, near_until, second_until)
        VALUES (v_bundle, v_environment, v_now - interval '30 days', v_end, v_end, date_trunc('day', v_now, 'UTC') - interval '8 days')
        ON CONFLICT (bundle_id, environment) DO NOTHING;
        IF FOUND THEN
            v_result := v_result + appstore.plan_history_days(v_bundle, v_environment, v_now - interval '30 days', v_end);
        END IF;
        SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
        WHERE c.bundle_id = v_bundle AND c.environment = v_environment AND c.mode <> 'off' FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;

        -- 2. What has passed since. Where nothing was asked for long, Apple may no longer keep all of it.
        IF v_cursor.near_until < v_now - appstore.history_limit(v_environment) THEN
            v_cursor.near_until := v_now - appstore.history_limit(v_environment);
            v_cursor.anchor := v_cursor.near_until;
        END IF;
        v_end := date_bin(CASE v_cursor.mode WHEN 'beside' THEN interval '1 minute' ELSE '15 minutes' END, v_now - interval '5 minutes', 'epoch');
        v_room := c_open - (SELECT count(*) FROM appstore.history_windows AS w
                            WHERE w.bundle_id = v_bundle AND w.environment = v_environment AND w.state = 'open' AND w.kind = 'near');
        WHILE v_cursor.near_until < v_end AND v_room > 0 LOOP
            INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
            VALUES (v_bundle, v_environment, 'near', v_cursor.near_until - v_cursor.overlap, least(v_end, v_cursor.near_until + interval '1 day'));
            v_cursor.near_until := least(v_end, v_cursor.near_until + interval '1 day');
            v_room := v_room - 1;
            v_result := v_result + 1;
        END LOOP;

        -- 3. Second walks.
        v_cursor.second_until := greatest(v_cursor.second_until,
                                          date_trunc('day', v_now - appstore.history_limit(v_environment), 'UTC') + interval '1 day');
        WHILE v_cursor.second_until + interval '9 days' <= v_now LOOP
            INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
            VALUES (v_bundle, v_environment, 'second', v_cursor.second_until, v_cursor.second_until + interval '1 day');
            v_cursor.second_until := v_cursor.second_until + interval '1 day';
            v_result := v_result + 1;
        END LOOP;
        UPDATE appstore.history_cursors AS c
        SET near_until = v_cursor.near_until, anchor = v_cursor.anchor, second_until = v_cursor.second_until
        WHERE c.bundle_id = v_bundle AND c.environment = v_environment
          AND (c.near_until, c.anchor, c.second_until) <> (v_cursor.near_until, v_cursor.anchor, v_cursor.second_until);
    END LOOP;
    RETURN v_result;
END
$$;
COMMENT ON FUNCTION appstore.plan_history IS
    'Makes the windows that these apps need by now: the days of a new one, the time since the newest window until five minutes ago, and the second '
    'walks of days that ended eight days ago. Returns how many.';

CREATE OR REPLACE FUNCTION appstore.plan_history_days(p_bundle_id text, p_environment appstore.environment, p_from timestamptz, p_to timestamptz)
RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_start  timestamptz := p_from;
    v_result integer := 0;
BEGIN
    WHILE v_start < p_to LOOP
        INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
        VALUES (p_bundle_id, p_environment, 'day', v_start, least(p_to, date_trunc('day', v_start, 'UTC') + interval '24 hours'));
        v_start := date_trunc('day', v_start, 'UTC') + interval '24 hours';
        v_result := v_result + 1;
    END LOOP;
    RETURN v_result;
END
$$;
COMMENT ON FUNCTION appstore.plan_history_days IS 'Makes a window for each day (UTC) of a time. Returns how many.';

CREATE OR REPLACE FUNCTION appstore.history_limit(environment appstore.environment) RETURNS interval
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE environment WHEN 'Sandbox' THEN interval '720 hours' ELSE interval '4320 hours' END $$;
COMMENT ON FUNCTION appstore.history_limit IS 'For how long Apple keeps the history, as it documents: 180 days, in Sandbox 30.';
