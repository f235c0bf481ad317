-- Repairs in steps that outlive a request, and a process.

CREATE FUNCTION appstore.begin_repair(action text, filter appstore.repair_filter, note text, expected bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_id bigint;
BEGIN
    PERFORM appstore.check_repair(action, filter, note),
            appstore.check_argument(coalesce(btrim(note), '') <> '', 'a repair needs a reason', 'It is kept in the audit log.');
    -- A form that is sent twice.
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.begin_repair', 0));
    SELECT r.repair_id INTO v_id FROM appstore.repairs AS r
    WHERE r.state = 'running' AND r.action = begin_repair.action AND r.filter IS NOT DISTINCT FROM begin_repair.filter;
    PERFORM appstore.check_argument(v_id IS NULL, format('repair %s does the same and is running', v_id), 'Wait for its end, or stop it.');
    -- What is settled from now on was not in the count.
    INSERT INTO appstore.repairs AS r (action, filter, note, actor, expected, progress)
    VALUES (action, filter, note, appstore.actor(), expected,
            ROW(clock_timestamp(), NULL, NULL, NULL, NULL, NULL, false)::appstore.repair_progress)
    RETURNING r.repair_id INTO v_id;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION appstore.begin_repair IS
    'Asks for a repair of all events that meet the conditions and were settled before. The console takes its steps. Returns its number.';

CREATE FUNCTION appstore.stop_repair(repair_id bigint, note text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.repairs AS r SET state = 'stopped', ended_at = clock_timestamp()
    WHERE r.repair_id = stop_repair.repair_id AND r.state = 'running';
    IF FOUND THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        VALUES (clock_timestamp(), appstore.actor(), 'stop_repair', '{}', stop_repair.note,
                jsonb_build_object('repair_id', stop_repair.repair_id));
    ELSIF NOT EXISTS (SELECT FROM appstore.repairs AS r WHERE r.repair_id = stop_repair.repair_id) THEN
        RAISE EXCEPTION 'there is no repair %', repair_id USING ERRCODE = 'no_data_found';
    END IF;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION appstore.stop_repair IS
    'Ends a repair that is running, after the step in flight. What it has repaired stays repaired. False where it had ended already.';

CREATE FUNCTION appstore.take_repair_step(OUT repair_id bigint, OUT pause double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_repair   appstore.repairs;
    v_progress appstore.repair_progress;
BEGIN
    SELECT r.* INTO v_repair FROM appstore.repairs AS r
    WHERE r.state = 'running' AND r.run_at <= clock_timestamp() ORDER BY r.run_at, r.repair_id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        repair_id := v_repair.repair_id;
        BEGIN
            PERFORM set_config('appstore.actor', v_repair.actor, true);
            v_progress := appstore.repair_step(v_repair.action, v_repair.filter, v_repair.note, v_repair.progress);
            UPDATE appstore.repairs AS r SET progress = v_progress, last_error = NULL, run_at = clock_timestamp() + v_progress.pause,
                   state = CASE WHEN v_progress.is_done THEN 'done' ELSE 'running' END,
                   ended_at = CASE WHEN v_progress.is_done THEN clock_timestamp() END
            WHERE r.repair_id = v_repair.repair_id;
        EXCEPTION
            -- WHEN OTHERS is not for what a timeout cancels.
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR query_canceled THEN
                UPDATE appstore.repairs AS r SET run_at = clock_timestamp() + interval '5 seconds', last_error = SQLERRM
                WHERE r.repair_id = v_repair.repair_id;
            WHEN OTHERS THEN
                UPDATE appstore.repairs AS r SET state = 'failed', ended_at = clock_timestamp(), last_error = SQLERRM
                WHERE r.repair_id = v_repair.repair_id;
        END;
    END IF;
    pause := (SELECT greatest(extract(epoch FROM min(r.run_at) - clock_timestamp()), 0)
              FROM appstore.repairs AS r WHERE r.state = 'running' HAVING count(*) > 0);
END
$$;
COMMENT ON FUNCTION appstore.take_repair_step IS
    'Takes the next step of the repair that is due first, in the name of the person who asked for it, and returns its number, and after how many '
    'seconds the next one is due; null where none is running. Several processes may call it at once.';
