-- Repairs of more events than one transaction should touch.

CREATE OR REPLACE FUNCTION appstore.repair_step(
    action text, filter appstore.repair_filter, note text, progress appstore.repair_progress DEFAULT NULL)
RETURNS appstore.repair_progress
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    c_repaired   CONSTANT integer := 1000;  -- the most events that a step repairs
    c_checked    CONSTANT integer := 20000; -- the most outcomes that it checks
    v_now        timestamptz := clock_timestamp();
    v            appstore.repair_progress;
    v_conditions jsonb;
    v_due        bigint;
    v_first      timestamptz;
    v_outcome    record;
    v_checked    integer := 0;
    v_found      bigint[] := '{}';
BEGIN
    v_conditions := appstore.check_repair(action, filter, note);
    v := ROW(coalesce(progress.started_at, v_now), coalesce(progress.event_id, 0), coalesce(progress.events, 0),
             coalesce(progress.pace, '1 second'), coalesce(progress.due_from, '-infinity'), '0', false);

    -- 1. Fresh events must not queue behind the repair: no step runs while 1,000 events are due, and the fewer are due, the shorter the
    --    interval between requeued events. The count starts where the queue began at the latest step: an event from before is committed
    --    within ten seconds of its time.
    IF action = 'requeue' THEN
        SELECT count(*), min(due.run_at) INTO v_due, v_first
        FROM (SELECT q.run_at FROM appstore.inbox_queue AS q WHERE q.run_at >= v.due_from AND q.run_at <= v_now
              ORDER BY q.run_at, q.event_id LIMIT c_repaired) AS due;
        v.due_from := greatest(v.due_from, least(v_first, v_now - interval '10 seconds'));
        v.pace := v.pace * CASE WHEN v_due >= c_repaired THEN 1.5 WHEN v_due < 100 THEN 0.8 ELSE 1.25 END;
        v.pace := least(greatest(v.pace, interval '100 milliseconds'), interval '10 seconds');
        IF v_due >= c_repaired THEN
            v.pause := v.pace / 4;
            RETURN v;
        END IF;
    END IF;

    -- 2. The next outcomes by event id. One query returns the matching ones and the end of the step, so that both are of one snapshot. An
    --    outcome that is added behind the walk is younger than the walk's start.
    FOR v_outcome IN
        SELECT o.event_id,
               o.settled_at < v.started_at AND appstore.matches_filter(o, filter)
                   AND CASE action WHEN 'discard' THEN o.result IN ('failed', 'rejected', 'unhandled')
                            ELSE EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0) END AS fits
        FROM appstore.outcomes AS o
        WHERE o.event_id > v.event_id
        ORDER BY o.event_id LIMIT c_checked
    LOOP
        v_checked := v_checked + 1;
        v.event_id := v_outcome.event_id;
        IF v_outcome.fits THEN
            v_found := v_found || v_outcome.event_id;
            EXIT WHEN cardinality(v_found) = c_repaired;
        END IF;
    END LOOP;
    v.is_done := v_checked < c_checked AND cardinality(v_found) < c_repaired;

    -- 3. The repair.
    IF action = 'requeue' THEN
        v.pause := cardinality(v_found)::double precision / c_repaired * v.pace;
    END IF;
    v.events := v.events + cardinality(appstore.repair_outcomes(action, v_found, v.started_at, v.pause, note, v_conditions));
    IF v.is_done AND v.events = 0 THEN
        PERFORM appstore.suggest_reasons(filter);
    END IF;
    RETURN v;
END
$$;
COMMENT ON FUNCTION appstore.repair_step IS
    'Repairs the next events that meet the conditions, at most 1,000, in the order of their ids, and returns the progress: call it again with '
    'that, in a transaction of its own, after progress.pause, until progress.is_done. It may repair none while many fresh events are due.';

-- SECURITY INVOKER and without a SET clause: otherwise the procedure could not commit.
CREATE OR REPLACE PROCEDURE appstore.repair_all(action text, filter appstore.repair_filter, note text)
LANGUAGE plpgsql AS $$
DECLARE
    v_progress appstore.repair_progress;
    v_before   bigint := 0; -- the last event that the step before checked
    v_waits    boolean := false;
BEGIN
    IF current_setting('statement_timeout') <> '0' THEN
        RAISE NOTICE 'statement_timeout will end this call after %', current_setting('statement_timeout')
            USING HINT = 'SET statement_timeout = 0 before it. A call that was ended can be repeated.';
    END IF;
    LOOP
        BEGIN
            v_progress := appstore.repair_step(action, filter, note, v_progress);
        EXCEPTION WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
            RAISE NOTICE 'another transaction holds events of the next step: %', SQLERRM;
            v_progress.pause := interval '5 seconds';
        END;
        COMMIT;
        IF v_progress.event_id > v_before OR v_progress.is_done THEN
            RAISE NOTICE '% events %ed, up to event %', v_progress.events, rtrim(action, 'e'), v_progress.event_id;
            v_waits := false;
        ELSIF NOT v_waits THEN
            RAISE NOTICE 'waits until fewer than 1,000 events are due, or until the locks are free';
            v_waits := true;
        END IF;
        v_before := coalesce(v_progress.event_id, 0);
        EXIT WHEN v_progress.is_done;
        PERFORM pg_sleep(extract(epoch FROM v_progress.pause));
    END LOOP;
END
$$;
COMMENT ON PROCEDURE appstore.repair_all IS 'The common part of appstore.requeue_all and appstore.discard_all.';
