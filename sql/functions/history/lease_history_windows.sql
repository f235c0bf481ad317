CREATE OR REPLACE FUNCTION appstore.lease_history_windows(
    p_bundle_ids text[], p_environments appstore.environment[], p_near integer, p_days integer, p_seconds integer)
RETURNS TABLE (window_id bigint, epoch bigint, bundle_id text, environment appstore.environment, kind text, starts_at timestamptz,
               ends_at timestamptz, token text, is_read boolean, failures integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    -- What lies before the edge is not asked for again: a window without pages starts there.
    UPDATE appstore.history_windows AS w
    SET starts_at = least(c.edge, w.ends_at), state = CASE WHEN w.ends_at <= c.edge THEN 'too_old' ELSE 'open' END,
        closed_at = CASE WHEN w.ends_at <= c.edge THEN v_now END, failing_since = CASE WHEN w.ends_at > c.edge THEN w.failing_since END,
        is_leased = false
    FROM unnest(p_bundle_ids, p_environments) AS l (b, e)
    JOIN appstore.history_cursors AS c ON c.bundle_id = l.b AND c.environment = l.e
    WHERE w.bundle_id = l.b AND w.environment = l.e AND w.state = 'open' AND w.run_at <= v_now AND w.token IS NULL AND NOT w.is_read
      AND w.starts_at < c.edge;
    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT w.window_id
        FROM unnest(p_bundle_ids, p_environments) AS l (b, e)
        JOIN appstore.history_cursors AS c ON c.bundle_id = l.b AND c.environment = l.e AND c.mode <> 'off'
        JOIN appstore.history_windows AS w ON w.bundle_id = l.b AND w.environment = l.e AND w.state = 'open'
        WHERE w.run_at <= v_now AND w.kind = 'near'
        ORDER BY w.ends_at DESC LIMIT p_near FOR UPDATE OF w SKIP LOCKED
    ), due_days AS MATERIALIZED (
        SELECT w.window_id
        FROM unnest(p_bundle_ids, p_environments) AS l (b, e)
        JOIN appstore.history_cursors AS c ON c.bundle_id = l.b AND c.environment = l.e AND c.mode <> 'off'
        JOIN appstore.history_windows AS w ON w.bundle_id = l.b AND w.environment = l.e AND w.state = 'open'
        WHERE w.run_at <= v_now AND w.kind <> 'near'
        ORDER BY w.kind, w.ends_at DESC LIMIT p_days FOR UPDATE OF w SKIP LOCKED
    )
    UPDATE appstore.history_windows AS w
    SET epoch = w.epoch + 1, is_leased = true, run_at = v_now + make_interval(secs => p_seconds)
    WHERE w.window_id IN (SELECT due.window_id FROM due UNION ALL SELECT due_days.window_id FROM due_days)
    RETURNING w.window_id, w.epoch, w.bundle_id, w.environment, w.kind, w.starts_at, w.ends_at, w.token, w.is_read, w.failures;
END
$$;
COMMENT ON FUNCTION appstore.lease_history_windows IS
    'Leases due windows of these apps, newest first, p_near of the near walk and p_days others, days before second walks. A lease that has expired '
    'is due.';

CREATE OR REPLACE FUNCTION appstore.postpone_history_window(
    p_window_id bigint, p_epoch bigint, p_reason text /* null */, p_delay interval, p_counts boolean)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    UPDATE appstore.history_windows AS w
    SET run_at = v_now + p_delay, is_leased = false, last_error = coalesce(p_reason, w.last_error), failures = w.failures + p_counts::integer,
        failing_since = CASE WHEN p_counts THEN coalesce(w.failing_since, v_now) ELSE w.failing_since END
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open';
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION appstore.postpone_history_window IS
    'Ends a lease without a page. The window keeps its token. With p_counts it is a failure of the window, not of the budget or the key. False when '
    'another lease has begun.';

CREATE OR REPLACE FUNCTION appstore.restart_history_window(p_window_id bigint, p_epoch bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c_restarts CONSTANT integer := 5;
    v_window   appstore.history_windows;
    v_halves   boolean;
    v_middle   timestamptz;
BEGIN
    SELECT w.* INTO v_window FROM appstore.history_windows AS w
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' FOR UPDATE;
    v_halves := v_window.restarts + 1 >= c_restarts AND v_window.ends_at - v_window.starts_at >= interval '1 minute';
    v_middle := date_trunc('milliseconds', v_window.starts_at + (v_window.ends_at - v_window.starts_at) / 2);
    INSERT INTO appstore.history_windows (bundle_id, environment, kind, starts_at, ends_at)
    SELECT v_window.bundle_id, v_window.environment, v_window.kind, v_middle, v_window.ends_at WHERE v_halves;
    UPDATE appstore.history_windows AS w
    SET token = NULL, pages = 0, listed = 0, restarts = CASE WHEN v_halves THEN 0 ELSE w.restarts + 1 END,
        ends_at = CASE WHEN v_halves THEN v_middle ELSE w.ends_at END
    WHERE w.window_id = v_window.window_id;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION appstore.restart_history_window IS
    'Lets a leased window begin again with its first page, after its token was refused; the fifth time, its second half becomes a window of its own. '
    'False when another lease has begun.';

CREATE OR REPLACE FUNCTION appstore.advance_history_window(p_window_id bigint, p_epoch bigint) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_window appstore.history_windows;
BEGIN
    UPDATE appstore.history_windows AS w
    SET starts_at = least(w.starts_at + interval '1 hour', w.ends_at), token = NULL, pages = 0, listed = 0
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' AND w.starts_at < w.ends_at - interval '1 hour'
    RETURNING w.* INTO v_window;
    IF NOT FOUND THEN
        UPDATE appstore.history_windows AS w
        SET starts_at = w.ends_at, state = 'too_old', closed_at = clock_timestamp(), is_leased = false, failing_since = NULL
        WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open'
        RETURNING w.* INTO v_window;
    END IF;
    UPDATE appstore.history_cursors AS c
    SET edge = greatest(c.edge, v_window.starts_at), anchor = greatest(c.anchor, v_window.starts_at)
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
    RETURN v_window.starts_at;
END
$$;
COMMENT ON FUNCTION appstore.advance_history_window IS
    'Moves the start of a leased window forward by an hour, since Apple called it too old, and remembers the edge; a window that has no hour left is '
    'closed. Returns the new start, null when another lease has begun.';
