CREATE OR REPLACE FUNCTION appstore.expire_deliveries() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_ages   appstore.retention;
    v_first  bigint := coalesce((SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1),
                                (SELECT h.position + 1 FROM appstore.feed_head AS h));
    v_locked text[];
    v_aged   text[];
    v_rows   bigint;
    v_result bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    -- 1. Attempts, in the order of their numbers: two walks that never go back.
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    v_result := appstore.expire_attempts('deliveries', v_now - v_ages.deliveries, true)
        + appstore.expire_attempts('failed_deliveries', v_now - v_ages.failed_deliveries, false);
    -- 2. Deliveries whose entry is gone. Those that were given up stay for a day more, so that what aged can be seen.
    DELETE FROM appstore.open_deliveries AS d
    WHERE d.ctid = ANY (ARRAY(
        SELECT old.ctid FROM appstore.endpoints AS e CROSS JOIN LATERAL (
            SELECT d.ctid FROM appstore.open_deliveries AS d
            WHERE d.endpoint = e.name AND d.given_up_at IS NOT NULL AND d.position < v_first AND d.given_up_at < v_now - interval '1 day'
            ORDER BY d.position LIMIT 500 FOR UPDATE SKIP LOCKED) AS old));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    v_result := v_result + v_rows;
    v_locked := ARRAY(
        SELECT e.name FROM appstore.endpoints AS e
        WHERE EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.position < v_first)
        FOR UPDATE SKIP LOCKED);
    WITH aged AS (
        UPDATE appstore.open_deliveries AS d SET given_up_at = v_now, last_error = 'aged', last_status = NULL
        WHERE d.ctid = ANY (ARRAY(
            SELECT old.ctid FROM unnest(v_locked) AS e (name) CROSS JOIN LATERAL (
                SELECT d.ctid FROM appstore.open_deliveries AS d
                WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.position < v_first
                ORDER BY d.position LIMIT 500 FOR UPDATE SKIP LOCKED) AS old))
        RETURNING d.endpoint, d.subject
    )
    SELECT count(*), array_agg(DISTINCT ARRAY[aged.endpoint, aged.subject]) FILTER (WHERE aged.subject IS NOT NULL) INTO v_rows, v_aged FROM aged;
    v_result := v_result + v_rows;
    PERFORM appstore.release_subject(v_aged[n][1], v_aged[n][2], true, v_now) FROM generate_subscripts(v_aged, 1) AS n;
    UPDATE appstore.endpoints AS e SET due_from = least(e.due_from, v_now) WHERE e.name = ANY (v_locked) AND v_aged IS NOT NULL;
    -- 3. Redeliveries that ended.
    DELETE FROM appstore.redeliveries AS r WHERE r.ended_at < v_now - interval '30 days';
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_result + v_rows;
END
$$;
COMMENT ON FUNCTION appstore.expire_deliveries IS
    'Deletes aged attempts, at most 1,000 of each kind, gives up deliveries whose entry is gone, deletes these a day later, and redeliveries 30 days '
    'after their end. Returns how many rows.';

CREATE OR REPLACE FUNCTION appstore.expire_attempts(p_walk text, p_before timestamptz, p_delivered_only boolean) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    c_batch   CONSTANT integer := 1000;
    v_after   bigint := coalesce((SELECT s.event_id FROM appstore.maintenance_state AS s WHERE s.task = p_walk), 0);
    v_last    bigint;
    v_rows    bigint;
BEGIN
    -- Up to the first that is not aged: times may be out of order.
    SELECT max(next.attempt_id), count(*) INTO v_last, v_rows
    FROM (SELECT a.attempt_id, bool_and(a.at < p_before) OVER (ORDER BY a.attempt_id) AS is_aged
          FROM (SELECT a.attempt_id, a.at FROM appstore.delivery_attempts AS a WHERE a.attempt_id > v_after ORDER BY a.attempt_id LIMIT c_batch)
              AS a) AS next
    WHERE next.is_aged;
    IF v_rows > 0 THEN
        DELETE FROM appstore.delivery_attempts AS a
        WHERE a.attempt_id > v_after AND a.attempt_id <= v_last AND (NOT p_delivered_only OR a.result = 'delivered');
        INSERT INTO appstore.maintenance_state (task, event_id) VALUES (p_walk, v_last)
        ON CONFLICT (task) DO UPDATE SET event_id = excluded.event_id;
    END IF;
    RETURN v_rows;
END
$$;
COMMENT ON FUNCTION appstore.expire_attempts IS
    'Takes the next step of a walk over delivery_attempts: deletes those older than p_before, or only the successful ones of them. Returns how many '
    'it has passed.';
