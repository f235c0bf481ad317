-- Beside the batches, not in them: their transactions would wait for each other's counts.
CREATE OR REPLACE FUNCTION appstore.classify_history(p_after bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    c_batch CONSTANT integer := 1000;
    v_ids     bigint[];
    v_settled bigint[];
    v_classes text[];
    v_count   record;
BEGIN
    v_ids := ARRAY(SELECT r.event_id FROM appstore.history_records AS r WHERE r.is_open AND r.event_id > p_after ORDER BY r.event_id LIMIT c_batch);
    SELECT coalesce(array_agg(s.event_id), '{}'), coalesce(array_agg(s.class), '{}') INTO v_settled, v_classes
    FROM (SELECT r.event_id,
                 CASE WHEN o.result = 'duplicate' THEN 'confirmed' WHEN o.result IN ('rejected', 'failed') THEN 'refused_here'
                      ELSE r.class END AS class
          FROM appstore.history_records AS r
          CROSS JOIN LATERAL (SELECT o.result FROM appstore.outcomes AS o WHERE o.event_id = r.event_id OFFSET 0) AS o
          WHERE r.is_open AND r.event_id = ANY (v_ids)
            -- The next windows list it again and tell whether the attempt failed.
            AND (r.class <> 'in_flight' OR o.result IN ('duplicate', 'rejected', 'failed')
                 OR r.listed_at < clock_timestamp() - interval '2 hours')
          ORDER BY r.event_id FOR UPDATE OF r SKIP LOCKED) AS s;
    FOR v_count IN
        WITH classed AS (
            UPDATE appstore.history_records AS r SET class = v_classes[array_position(v_settled, r.event_id)], is_open = false
            WHERE r.is_open AND r.event_id = ANY (v_settled)
            RETURNING r.bundle_id, r.environment, r.mode, r.class
        )
        SELECT c.bundle_id, c.environment, c.mode, c.class, count(*) AS records FROM classed AS c GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    LOOP
        PERFORM appstore.count_history(v_count.bundle_id, v_count.environment, v_count.mode, v_count.class, v_count.records);
    END LOOP;
    RETURN v_ids[c_batch];
END
$$;
COMMENT ON FUNCTION appstore.classify_history IS
    'Gives the next 1,000 open records after an event their class, where their event has an outcome. Returns the last event, null when there are no '
    'more.';

CREATE OR REPLACE FUNCTION appstore.compare_history_window(p_window_id bigint, p_epoch bigint, p_seconds integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    c_batch  CONSTANT integer := 2000;
    v_window appstore.history_windows;
    v_cursor appstore.history_cursors;
    v_ids    bigint[];
    v_times  timestamptz[];
    v_mode   text;
    v_rows   bigint;
BEGIN
    SELECT w.* INTO v_window FROM appstore.history_windows AS w
    WHERE w.window_id = p_window_id AND w.epoch = p_epoch AND w.state = 'open' AND w.is_read FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT c.* INTO v_cursor FROM appstore.history_cursors AS c
    WHERE c.bundle_id = v_window.bundle_id AND c.environment = v_window.environment;
    -- 1. What was settled on that day, in the order of the outcomes.
    SELECT coalesce(array_agg(next.event_id), '{}'), coalesce(array_agg(next.settled_at), '{}') INTO v_ids, v_times
    FROM (SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
          WHERE o.settled_at >= coalesce(v_window.compared_to, v_window.starts_at) AND o.settled_at < v_window.ends_at
            AND (o.settled_at, o.event_id) > (coalesce(v_window.compared_to, v_window.starts_at), coalesce(v_window.compared_event, 0))
          ORDER BY o.settled_at, o.event_id LIMIT c_batch) AS next;
    -- 2. What of it was pushed and is in no record. A requeued event is not a push of that day.
    v_mode := CASE WHEN v_cursor.mode = 'beside' OR v_window.starts_at < v_cursor.walks_since THEN 'beside' ELSE 'walk' END;
    INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, attempts)
    SELECT v_window.environment, o.notification_uuid, v_window.bundle_id, 'unlisted', false, v_mode, o.event_id, p_window_id, clock_timestamp(), 0
    FROM appstore.outcomes AS o
    WHERE o.event_id = ANY (v_ids) AND o.source = 'notification_v2' AND o.notification_uuid IS NOT NULL
      AND o.environment = v_window.environment::text AND o.bundle_id = v_window.bundle_id
      AND o.result NOT IN ('duplicate', 'rejected', 'failed', 'discarded') AND o.received_at >= v_window.starts_at - interval '1 day'
    ON CONFLICT (notification_uuid, environment) DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    UPDATE appstore.history_windows AS w
    SET compared_to = coalesce(v_times[cardinality(v_times)], w.compared_to), compared_event = coalesce(v_ids[cardinality(v_ids)], w.compared_event),
        run_at = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE w.window_id = p_window_id;
    IF cardinality(v_ids) < c_batch THEN
        PERFORM appstore.close_history_window(p_window_id);
    END IF;
    PERFORM appstore.count_history(v_window.bundle_id, v_window.environment, v_mode, 'unlisted', v_rows);
    RETURN cardinality(v_ids) < c_batch;
END
$$;
COMMENT ON FUNCTION appstore.compare_history_window IS
    'Compares the next 2,000 outcomes of a day with what its second walk listed: what was pushed and is in no record becomes an unlisted one. Closes '
    'the window after the last. Returns whether it did, null when another lease has begun.';

CREATE OR REPLACE FUNCTION appstore.expire_history() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    c_batch  CONSTANT integer := 1000;
    v_cutoff timestamptz := clock_timestamp() - (SELECT r.history FROM appstore.retention AS r);
    v_rows   bigint;
    v_result bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    DELETE FROM appstore.history_records AS r
    WHERE r.ctid = ANY (ARRAY(
        SELECT old.ctid FROM appstore.history_records AS old WHERE old.listed_at < v_cutoff AND NOT old.is_open
        ORDER BY old.listed_at LIMIT c_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_result = ROW_COUNT;
    DELETE FROM appstore.history_windows AS w
    WHERE w.ctid = ANY (ARRAY(
        SELECT old.ctid FROM appstore.history_windows AS old WHERE old.state <> 'open' AND old.closed_at < v_cutoff
        ORDER BY old.closed_at LIMIT c_batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_result + v_rows;
END
$$;
COMMENT ON FUNCTION appstore.expire_history IS
    'Deletes aged records of the history, which stay counted, and aged windows that are closed, at most 1,000 of each. Returns how many.';
