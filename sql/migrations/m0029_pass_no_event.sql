-- Takes the next events of a request, at most 1,000, and says where it goes on. Not for callers.
--
-- As before, but one statement finds the events and the end of the step, so that both see the same outcomes. When some went away in between, a
-- second statement found an end behind what the first had looked at, and the walk passed events.
CREATE OR REPLACE FUNCTION appstore.carry_on_repair(r appstore.repairs) RETURNS appstore.repairs
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    c_step    CONSTANT integer := 1000;
    c_look    CONSTANT integer := 20000;   -- outcomes that one step looks at
    v_now     timestamptz := clock_timestamp();
    v_filter  appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, r.filter);
    v_due     bigint;
    v_first   timestamptz;
    v_found   bigint[];
    v_last    bigint;   -- the last one that was looked at; null when there are no more
    v_done    bigint[];
    v_spread  interval := '0';
BEGIN
    r.started_at := coalesce(r.started_at, v_now);
    r.state := 'running';
    IF r.action = 'requeue' THEN
        SELECT count(*), min(due.run_at) INTO v_due, v_first
        FROM (SELECT d.run_at FROM appstore.inbox_ready AS d WHERE d.run_at >= r.due_from AND d.run_at <= v_now
              ORDER BY d.run_at, d.event_id LIMIT c_step) AS due;
        r.due_from := greatest(r.due_from, least(v_first, v_now - interval '10 seconds'));
        IF v_due >= c_step THEN
            r.pace := least(r.pace * 1.5, interval '10 seconds');
            r.next_step_at := v_now + r.pace / 4;
            RETURN r;
        END IF;
        r.pace := CASE WHEN v_due < 100 THEN greatest(r.pace * 0.8, interval '100 milliseconds')
                       ELSE least(r.pace * 1.25, interval '10 seconds') END;
    END IF;

    WITH found AS MATERIALIZED (
        SELECT ARRAY(
            SELECT looked.event_id
            FROM (
                SELECT o.event_id,
                       o.settled_at < r.requested_at AND appstore.fits(o, v_filter)
                           AND CASE r.action WHEN 'discard' THEN o.result IN ('failed', 'rejected', 'unhandled')
                                    ELSE EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0) END AS fits
                FROM appstore.outcomes AS o
                WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
                ORDER BY o.event_id LIMIT c_look
            ) AS looked
            WHERE looked.fits LIMIT c_step) AS event_ids
    )
    SELECT found.event_ids,
           CASE WHEN cardinality(found.event_ids) = c_step THEN found.event_ids[c_step]
                ELSE (SELECT o.event_id FROM appstore.outcomes AS o
                      WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
                      ORDER BY o.event_id LIMIT 1 OFFSET c_look - 1) END
    INTO v_found, v_last
    FROM found;

    IF cardinality(v_found) > 0 AND r.action = 'requeue' THEN
        v_spread := r.pace * (cardinality(v_found)::double precision / c_step);
        v_done := appstore.put_back(v_found, r.requested_at, r.requested_by, v_spread);
    ELSIF cardinality(v_found) > 0 THEN
        v_done := appstore.discard_settled(v_found, r.requested_at, r.requested_by, r.note);
    END IF;
    IF cardinality(v_done) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
        VALUES (clock_timestamp(), r.requested_by, r.action, '{}',
                jsonb_build_object('repair_id', r.repair_id, 'events', cardinality(v_done), 'first', v_done[1],
                                   'last', v_done[cardinality(v_done)]));
    END IF;

    -- An outcome that came in between is younger than the request: the walk may pass it.
    r.walked_to := coalesce(v_last, r.last_event_id);
    r.events_repaired := r.events_repaired + coalesce(cardinality(v_done), 0);
    r.steps := r.steps + 1;
    r.next_step_at := clock_timestamp() + v_spread;
    IF v_last IS NULL THEN
        r.state := 'done';
        r.finished_at := clock_timestamp();
    END IF;
    RETURN r;
END
$$;
