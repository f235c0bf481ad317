-- Repairs in steps that outlive a request, and a process.

CREATE OR REPLACE FUNCTION appstore.begin_repair(action text, filter appstore.repair_filter, note text, expected bigint) RETURNS bigint
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
    'Asks for a repair of the events that meet the conditions and were settled before, in the order of their ids: it ends with the step in which '
    'it has repaired as many as expected. The console takes its steps. Returns its number.';

CREATE OR REPLACE FUNCTION appstore.stop_repair(repair_id bigint, note text DEFAULT NULL) RETURNS boolean
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
    'Ends a repair that is running; a step in flight is the last one. What it has repaired stays repaired. False where it had ended already.';

CREATE OR REPLACE FUNCTION appstore.take_repair_step(OUT repair_id bigint, OUT pause double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_next     bigint;
    v_repair   appstore.repairs;
    v_progress appstore.repair_progress;
    v_is_done  boolean;
BEGIN
    -- 1. An advisory lock is for the step, so that the row stays free for appstore.stop_repair. It is read again under the lock.
    FOR v_next IN
        SELECT r.repair_id FROM appstore.repairs AS r WHERE r.state = 'running' AND r.run_at <= clock_timestamp() ORDER BY r.run_at, r.repair_id
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(hashtextextended('appstore.take_repair_step', v_next));
        SELECT r.* INTO v_repair FROM appstore.repairs AS r
        WHERE r.repair_id = v_next AND r.state = 'running' AND r.run_at <= clock_timestamp();
        EXIT WHEN FOUND;
    END LOOP;
    repair_id := v_repair.repair_id;

    -- 2. Its step. A person whom a proxy names is no login.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = v_repair.actor)
       AND NOT appstore.has_console_role(v_repair.actor, 'operator') THEN
        UPDATE appstore.repairs AS r SET state = 'stopped', ended_at = clock_timestamp(), last_error = v_repair.actor || ' is no operator now'
        WHERE r.repair_id = v_repair.repair_id AND r.state = 'running';
    ELSIF repair_id IS NOT NULL THEN
        BEGIN
            PERFORM set_config('appstore.actor', v_repair.actor, true);
            v_progress := appstore.repair_step(v_repair.action, v_repair.filter, v_repair.note, v_repair.progress);
            v_is_done := v_progress.is_done OR v_progress.events >= v_repair.expected;
            -- It may have been stopped meanwhile: what this step has repaired counts all the same.
            UPDATE appstore.repairs AS r SET progress = v_progress, last_error = NULL, run_at = clock_timestamp() + v_progress.pause,
                   state = CASE WHEN r.state = 'running' AND v_is_done THEN 'done' ELSE r.state END,
                   ended_at = CASE WHEN r.state = 'running' AND v_is_done THEN clock_timestamp() ELSE r.ended_at END
            WHERE r.repair_id = v_repair.repair_id;
        EXCEPTION
            -- WHEN OTHERS is not for what a timeout cancels, which is an operator_intervention.
            WHEN lock_not_available OR deadlock_detected OR serialization_failure OR insufficient_resources OR operator_intervention
                OR system_error THEN
                UPDATE appstore.repairs AS r SET run_at = clock_timestamp() + interval '5 seconds', last_error = SQLERRM
                WHERE r.repair_id = v_repair.repair_id;
            WHEN OTHERS THEN
                UPDATE appstore.repairs AS r SET state = 'failed', ended_at = clock_timestamp(), last_error = SQLERRM
                WHERE r.repair_id = v_repair.repair_id AND r.state = 'running';
        END;
    END IF;
    pause := (SELECT greatest(extract(epoch FROM min(r.run_at) - clock_timestamp()), 0)
              FROM appstore.repairs AS r WHERE r.state = 'running' HAVING count(*) > 0);
END
$$;
COMMENT ON FUNCTION appstore.take_repair_step IS
    'Takes the next step of the repair that is due first, in the name of the person who asked for it, and returns its number, and after how many '
    'seconds the next one is due; null where none is running. Several processes may call it at once.';
