CREATE OR REPLACE FUNCTION appstore.apply_consumption_policies(OUT decided bigint, OUT missed bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    c_period  CONSTANT interval := '2 days';
    v_request record;
BEGIN
    IF NOT appstore.maintenance_lock('apply_consumption_policies') THEN
        RETURN;
    END IF;
    -- 1. Default answers where nothing else was decided. decide_consumption checks under the request's lock.
    decided := 0;
    FOR v_request IN
        SELECT due.* FROM (
            SELECT r.environment, r.transaction_id, p.delivery, p.sample, p.percentage, p.preference
            FROM appstore.consumption_requests AS r CROSS JOIN LATERAL appstore.consumption_policy(r.bundle_id, r.product_id) AS p
            WHERE r.due_at > statement_timestamp() AND r.due_at <= statement_timestamp() + interval '2 hours' AND r.state = 'waiting'
              AND r.decided_at IS NULL AND p.mode = 'default' AND r.is_expected
            ORDER BY r.due_at LIMIT 500
        ) AS due
        ORDER BY due.environment, due.transaction_id -- as a merge locks requests
    LOOP
        decided := decided + (
            SELECT (d.refusal IS NULL)::integer
            FROM appstore.decide_consumption(
                v_request.environment, v_request.transaction_id,
                ROW(true, v_request.delivery, v_request.sample, v_request.percentage, v_request.preference, NULL, NULL),
                'policy', appstore.actor()) AS d);
    END LOOP;

    -- 2. Count each missed request once, when no answer is on its way any more. What the history brings later could never be answered here.
    DELETE FROM appstore.consumption_counted AS n WHERE n.due_at <= statement_timestamp() - c_period;
    WITH over AS (
        INSERT INTO appstore.consumption_counted AS n (environment, transaction_id, due_at, is_missed)
        SELECT r.environment, r.transaction_id, r.due_at, r.state = 'missed' AND r.is_expected
        FROM appstore.consumption_requests AS r
        WHERE r.due_at > statement_timestamp() - c_period AND (r.due_at <= statement_timestamp() OR r.outcome IS NOT NULL)
          AND r.state IN ('missed', 'answered', 'not_consented')
          AND NOT EXISTS (SELECT FROM appstore.consumption_counted AS known
                          WHERE known.transaction_id = r.transaction_id AND known.environment = r.environment AND known.due_at >= r.due_at
                          OFFSET 0)
        ON CONFLICT (transaction_id, environment) DO UPDATE SET due_at = excluded.due_at, is_missed = excluded.is_missed
        RETURNING n.is_missed
    )
    SELECT count(*) FILTER (WHERE over.is_missed) INTO missed FROM over;
    INSERT INTO appstore.maintenance_state AS s (task, event_id) SELECT 'consumption', missed WHERE missed > 0
    ON CONFLICT (task) DO UPDATE SET event_id = s.event_id + excluded.event_id;
END
$$;
COMMENT ON FUNCTION appstore.apply_consumption_policies IS
    'Decides the requests of mode default that are due within two hours, of which nothing was decided and the user''s consent is known, at most 500; '
    'and counts those of the last two days that were missed. Returns how many; nulls while another worker does it.';

CREATE OR REPLACE FUNCTION appstore.consumption_statistics(OUT open bigint, OUT due interval, OUT missed bigint)
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
