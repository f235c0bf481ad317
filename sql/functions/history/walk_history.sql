CREATE OR REPLACE FUNCTION appstore.walk_history(bundle_id text, environment appstore.environment, since timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := date_trunc('milliseconds', clock_timestamp());
    v_since  timestamptz := date_trunc('milliseconds', walk_history.since);
    v_cursor appstore.history_cursors;
    v_result integer;
BEGIN
    PERFORM appstore.check_environment(environment);
    IF v_since IS NULL OR v_since < v_now - appstore.history_limit(environment) OR v_since >= v_now THEN
        RAISE EXCEPTION 'Apple lists no notifications of % in %', coalesce(v_since::text, 'null'), environment
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('It lists those of the last %s days.', extract(epoch FROM appstore.history_limit(environment))::bigint / 86400);
    END IF;
    v_cursor := appstore.history_cursor(walk_history.bundle_id, environment);
    v_since := greatest(v_since, v_cursor.edge);
    IF v_since >= v_cursor.since THEN
        RETURN 0;
    END IF;
    v_result := appstore.plan_history_days(walk_history.bundle_id, environment, v_since, v_cursor.since);
    UPDATE appstore.history_cursors AS c SET since = v_since WHERE c.bundle_id = walk_history.bundle_id AND c.environment = walk_history.environment;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'walk_history', '{}',
            jsonb_build_object('bundle_id', walk_history.bundle_id, 'environment', environment, 'since', v_since));
    RETURN v_result;
END
$$;
COMMENT ON FUNCTION appstore.walk_history IS
    'Lets the workers read the history of an app from an earlier day on, up to 180 days ago, in Sandbox 30. Returns how many windows it made; 0 when '
    'they were made before. It fails with no_data_found when no worker has had the app''s key.';

CREATE OR REPLACE FUNCTION appstore.set_history_mode(bundle_id text, environment appstore.environment, mode text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_cursor appstore.history_cursors;
BEGIN
    PERFORM appstore.check_environment(environment);
    IF set_history_mode.mode IS NULL OR set_history_mode.mode NOT IN ('walk', 'beside', 'off') THEN
        RAISE EXCEPTION 'there is no mode %', quote_nullable(set_history_mode.mode)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Modes are walk, beside and off.';
    END IF;
    v_cursor := appstore.history_cursor(set_history_mode.bundle_id, environment);
    UPDATE appstore.history_cursors AS c
    SET mode = set_history_mode.mode,
        walks_since = CASE WHEN c.mode = 'beside' AND set_history_mode.mode <> 'beside' THEN v_now ELSE c.walks_since END
    WHERE c.bundle_id = set_history_mode.bundle_id AND c.environment = set_history_mode.environment;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'set_history_mode', '{}',
            jsonb_build_object('bundle_id', set_history_mode.bundle_id, 'environment', environment, 'mode', set_history_mode.mode,
                               'was', v_cursor.mode));
END
$$;
COMMENT ON FUNCTION appstore.set_history_mode IS
    'Sets how the history of an app is read: walk; beside, a trial while another service owns the URL; off, after the pages in flight. It fails with '
    'no_data_found when no worker has had the app''s key.';

CREATE OR REPLACE FUNCTION appstore.history_cursor(p_bundle_id text, p_environment appstore.environment) RETURNS appstore.history_cursors
LANGUAGE plpgsql AS $$
DECLARE
    v_cursor appstore.history_cursors;
BEGIN
    SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
    WHERE c.bundle_id = p_bundle_id AND c.environment = p_environment FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no worker reads the history of app % in %', quote_nullable(p_bundle_id), p_environment
            USING ERRCODE = 'no_data_found', HINT = 'It begins when a worker runs that has a key of the app for the App Store Server API.';
    END IF;
    RETURN v_cursor;
END
$$;
COMMENT ON FUNCTION appstore.history_cursor IS 'The locked cursor of an app; fails when there is none.';
