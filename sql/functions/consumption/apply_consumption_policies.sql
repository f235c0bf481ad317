CREATE FUNCTION appstore.apply_consumption_policies(OUT decided bigint, OUT missed bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    -- Once it is over, appstore.expire_calls has given up the calls that no worker took.
    c_delay   CONSTANT interval := '70 minutes';
    v_from    timestamptz;
    v_request record;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN;
    END IF;
    -- 1. Default answers where nothing else was decided. decide_consumption checks under the request's lock.
    decided := 0;
    FOR v_request IN
        SELECT r.environment, r.transaction_id, p.delivery, p.sample, p.percentage, p.preference
        FROM appstore.consumption_requests AS r CROSS JOIN LATERAL appstore.consumption_policy(r.bundle_id, r.product_id) AS p
        WHERE r.due_at > statement_timestamp() AND r.due_at <= statement_timestamp() + interval '2 hours' AND r.state = 'waiting'
          AND r.decided_at IS NULL AND p.mode = 'default' AND r.is_expected
        ORDER BY r.due_at LIMIT 500
    LOOP
        decided := decided + (
            SELECT (d.refusal IS NULL)::integer
            FROM appstore.decide_consumption(
                v_request.environment, v_request.transaction_id,
                ROW(true, v_request.delivery, v_request.sample, v_request.percentage, v_request.preference, NULL, NULL),
                'policy', session_user) AS d);
    END LOOP;

    -- 2. Count each missed request once, some time after it was due.
    INSERT INTO appstore.maintenance_state (task, settled_at) VALUES ('consumption', statement_timestamp() - c_delay)
    ON CONFLICT (task) DO NOTHING;
    v_from := (SELECT s.settled_at FROM appstore.maintenance_state AS s WHERE s.task = 'consumption');
    missed := (SELECT count(*) FROM appstore.consumption_requests AS r
               WHERE r.due_at > v_from AND r.due_at <= statement_timestamp() - c_delay AND r.state = 'missed' AND r.is_expected);
    UPDATE appstore.maintenance_state AS s SET settled_at = greatest(v_from, statement_timestamp() - c_delay), event_id = s.event_id + missed
    WHERE s.task = 'consumption';
END
$$;
COMMENT ON FUNCTION appstore.apply_consumption_policies IS
    'Decides the requests of mode default that are due within two hours, of which nothing was decided and the user''s consent is known, at most 500; '
    'and counts those that were missed. Returns how many; nulls while another worker does it.';

CREATE FUNCTION appstore.consumption_statistics(OUT open bigint, OUT due interval, OUT missed bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
    SELECT count(*), min(next.due_at) FILTER (WHERE next.state IN ('waiting', 'refused')) - statement_timestamp() INTO open, due
    FROM (SELECT r.due_at, r.state FROM appstore.consumption_requests AS r
          WHERE r.due_at > statement_timestamp() AND r.outcome IS NULL AND r.state IN ('waiting', 'decided', 'sending', 'refused') AND r.is_expected
          ORDER BY r.due_at LIMIT 10000) AS next;
    missed := coalesce((SELECT s.event_id FROM appstore.maintenance_state AS s WHERE s.task = 'consumption'), 0);
END
$$;
COMMENT ON FUNCTION appstore.consumption_statistics IS
    'Of the requests that are to be answered by policy: how many Apple waits for, up to 10,000, which then means as many or more; the time until the '
    'first one without a decision, or with a refused one, is due; and how many were missed so far.';
