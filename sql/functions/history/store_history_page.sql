-- One page, one transaction: a worker that dies repeats a page at most, whose records are known by then.
CREATE OR REPLACE FUNCTION appstore.store_history_page(
    p_window_id bigint, p_epoch bigint, p_seconds integer, p_token text /* null */, p_uuids uuid[], p_signed_at timestamptz[],
    p_first_attempt_at timestamptz[], p_last_attempt_at timestamptz[], p_attempts integer[], p_last_results text[], p_succeeded boolean[],
    p_bodies bytea[])
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_now      timestamptz;
    v_window   appstore.history_windows;
    v_cursor   appstore.history_cursors;
    v_new      uuid[];
    v_bodies   bytea[];
    v_ids      bigint[];
    v_walked   bigint;
    v_beside   bigint;
BEGIN
    PERFORM appstore.begin_to_store();
    v_now := clock_timestamp();
    SELECT w.* INTO v_window FROM appstore.history_windows AS w
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' AND NOT w.is_read FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
    IF v_cursor.mode = 'off' THEN -- otherwise a day of the past would be read to its end
        PERFORM appstore.postpone_history_window(p_window_id, p_epoch, NULL, interval '0', false);
        RETURN NULL;
    END IF;

    -- 1. Records that were not listed before, by another window or an earlier reading. The order avoids deadlocks of windows that overlap.
    WITH new AS (
        INSERT INTO appstore.history_records AS r (
            environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, signed_at, first_attempt_at,
            last_attempt_at, attempts, last_result)
        SELECT DISTINCT ON (l.uuid)
               v_window.environment, l.uuid, v_window.bundle_id,
               CASE WHEN s.first_event_id IS NOT NULL THEN 'confirmed' WHEN l.succeeded THEN 'taken_elsewhere'
                    WHEN l.last_attempt_at > v_now - interval '1 minute' THEN 'in_flight' ELSE 'recovered' END,
               false, CASE WHEN v_cursor.mode = 'beside' OR l.signed_at < v_cursor.walks_since THEN 'beside' ELSE 'walk' END, NULL, p_window_id,
               v_now, l.signed_at, l.first_attempt_at, l.last_attempt_at, l.attempts, l.last_result
        FROM unnest(p_uuids, p_signed_at, p_first_attempt_at, p_last_attempt_at, p_attempts, p_last_results, p_succeeded)
            AS l (uuid, signed_at, first_attempt_at, last_attempt_at, attempts, last_result, succeeded)
        LEFT JOIN LATERAL (
            SELECT s.first_event_id FROM appstore.seen_notifications AS s
            WHERE s.notification_uuid = l.uuid AND s.environment = v_window.environment OFFSET 0) AS s ON true
        ORDER BY l.uuid
        ON CONFLICT (notification_uuid, environment) DO NOTHING
        RETURNING r.notification_uuid, r.class, r.mode
    )
    SELECT coalesce(array_agg(new.notification_uuid ORDER BY new.notification_uuid) FILTER (WHERE new.class <> 'confirmed'), '{}'),
           count(*) FILTER (WHERE new.class = 'confirmed' AND new.mode = 'walk'),
           count(*) FILTER (WHERE new.class = 'confirmed' AND new.mode = 'beside')
    INTO v_new, v_walked, v_beside FROM new;

    -- 2. Those that were never pushed become events. Their record waits for the outcome.
    SELECT array_agg(p_bodies[array_position(p_uuids, n.uuid)] ORDER BY n.position) INTO v_bodies
    FROM unnest(v_new) WITH ORDINALITY AS n (uuid, position);
    v_ids := ARRAY(SELECT appstore.store('history_v2', v_bodies));
    UPDATE appstore.history_records AS r SET event_id = v_ids[array_position(v_new, r.notification_uuid)], is_open = true
    WHERE r.notification_uuid = ANY (v_new) AND r.environment = v_window.environment;

    -- 3. Attempts that were in flight when they were listed first, and have failed since. No condition names the index of open records.
    UPDATE appstore.history_records AS r
    SET class = 'recovered', attempts = p_attempts[array_position(p_uuids, r.notification_uuid)],
        last_attempt_at = p_last_attempt_at[array_position(p_uuids, r.notification_uuid)],
        last_result = p_last_results[array_position(p_uuids, r.notification_uuid)]
    WHERE r.notification_uuid = ANY (p_uuids) AND r.environment = v_window.environment AND r.class = 'in_flight' AND coalesce(r.is_open, false)
      AND NOT p_succeeded[array_position(p_uuids, r.notification_uuid)]
      AND p_last_attempt_at[array_position(p_uuids, r.notification_uuid)] <= v_now - interval '1 minute';

    -- 4. The window, and the time that it covers.
    UPDATE appstore.history_windows AS w
    SET token = p_token, pages = w.pages + 1, listed = w.listed + cardinality(p_uuids), stored = w.stored + cardinality(v_new),
        failures = 0, failing_since = NULL, last_error = NULL, run_at = v_now + make_interval(secs => p_seconds),
        is_read = p_token IS NULL AND w.kind = 'second',
        first_signed_at = least(w.first_signed_at, (SELECT min(d) FROM unnest(p_signed_at) AS d)),
        last_signed_at = greatest(w.last_signed_at, (SELECT max(d) FROM unnest(p_signed_at) AS d)),
        first_attempt_at = least(w.first_attempt_at, (SELECT min(d) FROM unnest(p_first_attempt_at) AS d)),
        last_attempt_at = greatest(w.last_attempt_at, (SELECT max(d) FROM unnest(p_first_attempt_at) AS d))
    WHERE w.window_id = p_window_id;
    IF p_token IS NULL AND v_window.kind <> 'second' THEN
        PERFORM appstore.close_history_window(p_window_id);
    END IF;
    PERFORM appstore.count_history(v_window.bundle_id, v_window.environment, 'beside', 'confirmed', v_beside);
    PERFORM appstore.count_history(v_window.bundle_id, v_window.environment, 'walk', 'confirmed', v_walked);
    RETURN cardinality(v_new);
END
$$;
COMMENT ON FUNCTION appstore.store_history_page IS
    'Stores a page of a leased window: its records, an event for each that is neither recorded nor among the seen notifications, and the token of the '
    'next page, null after the last one. Renews the lease for p_seconds. Returns how many events; null, without effect, when another lease has '
    'begun, or when the mode has become off. The arrays have an element for each record; p_uuids and p_signed_at were not verified.';

CREATE OR REPLACE FUNCTION appstore.close_history_window(p_window_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_window appstore.history_windows;
BEGIN
    UPDATE appstore.history_windows AS w SET state = 'done', closed_at = clock_timestamp(), is_leased = false WHERE w.window_id = p_window_id
    RETURNING w.* INTO v_window;
    UPDATE appstore.history_cursors AS c
    SET covered = c.covered + tstzmultirange(tstzrange(v_window.starts_at, v_window.ends_at)),
        overlap = CASE WHEN v_window.kind = 'second' AND v_window.stored > 0 THEN least(c.overlap * 2, interval '24 hours') ELSE c.overlap END
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
END
$$;
COMMENT ON FUNCTION appstore.close_history_window IS
    'Closes a window that was read completely: its time is covered. What a second walk found first doubles the overlap.';

CREATE OR REPLACE FUNCTION appstore.count_history(
    p_bundle_id text, p_environment appstore.environment, p_mode text, p_class text, p_records bigint) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO appstore.history_counts AS c (bundle_id, environment, mode, class, records)
    SELECT p_bundle_id, p_environment, p_mode, p_class, p_records WHERE p_records > 0
    ON CONFLICT (bundle_id, environment, mode, class) DO UPDATE SET records = c.records + excluded.records
$$;
COMMENT ON FUNCTION appstore.count_history IS 'Counts records whose class is certain.';
