-- How repairs are requested, carried out in steps, and stopped; and the calls that an operator makes.

-- Asks the worker to requeue or discard all events that fit, and returns the number of the request: its progress is a row of
-- appstore.repairs, and appstore.stop_repair ends it. For a discard the note is the reason of its outcomes.
CREATE FUNCTION appstore.request_repair(action text, filter jsonb, note text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_filter   jsonb := (
        SELECT appstore.repair_conditions(f.outcome, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id, f.received_from,
                                          f.received_before)
        FROM jsonb_populate_record(NULL::appstore.repair_filter, filter) AS f);
    v_unknown  text;
    v_expected bigint;
    v_repair   bigint;
BEGIN
    SELECT string_agg(k, ', ') INTO v_unknown FROM jsonb_object_keys(filter) AS k WHERE NOT v_filter ? k AND filter -> k <> 'null';
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'there is no such condition: %', v_unknown USING ERRCODE = 'invalid_parameter_value';
    ELSIF action IS NULL OR action NOT IN ('requeue', 'discard') THEN
        RAISE EXCEPTION 'action % is neither requeue nor discard', quote_nullable(action) USING ERRCODE = 'invalid_parameter_value';
    ELSIF action = 'discard' AND coalesce(btrim(note), '') = '' THEN
        RAISE EXCEPTION 'say why the events are discarded' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_expected := appstore.count_repair(action, v_filter);
    INSERT INTO appstore.repairs AS r (action, filter, note, requested_at, requested_by, events_expected, last_event_id, next_step_at)
    SELECT action, v_filter, note, t.now, session_user, v_expected, s.last_value, t.now
    FROM appstore.inbox_event_id AS s, (SELECT clock_timestamp() AS now) AS t
    RETURNING r.repair_id INTO v_repair;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'request_' || action, '{}', note,
            jsonb_build_object('repair_id', v_repair, 'events', v_expected) || v_filter);
    RETURN v_repair;
END
$$;

-- Ends a request after the step that is going on. False when it was over before; what it has repaired stays as it is.
CREATE FUNCTION appstore.stop_repair(repair_id bigint, note text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_action text;
BEGIN
    UPDATE appstore.repairs AS r
    SET state = 'stopped', stopped_by = session_user, finished_at = clock_timestamp()
    WHERE r.repair_id = stop_repair.repair_id AND r.state IN ('requested', 'running')
    RETURNING r.action INTO v_action;
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT FROM appstore.repairs AS r WHERE r.repair_id = stop_repair.repair_id) THEN
            RAISE EXCEPTION 'there is no repair %', stop_repair.repair_id USING ERRCODE = 'no_data_found';
        END IF;
        RETURN false;
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'stop_' || v_action, '{}', stop_repair.note,
            jsonb_build_object('repair_id', stop_repair.repair_id));
    RETURN true;
END
$$;

-- Takes the next events of a request, at most 1,000, and says where it goes on. Not for callers.
--
-- Fresh events are not kept waiting: those of a step become due one after the other within `pace`, a step is taken only when the one
-- before is over, and none while 1,000 events are due. The pace follows the workers: faster while they keep up, slower while they do not.
CREATE FUNCTION appstore.carry_on_repair(r appstore.repairs) RETURNS appstore.repairs
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
DECLARE
    c_step    CONSTANT integer := 1000;
    c_look    CONSTANT integer := 20000;   -- outcomes that one step looks at
    v_now     timestamptz := clock_timestamp();
    v_filter  appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, r.filter);
    v_due     bigint;
    v_found   bigint[];
    v_looked  bigint;
    v_last    bigint;
    v_done    bigint[];
    v_spread  interval := '0';
BEGIN
    r.started_at := coalesce(r.started_at, v_now);
    r.state := 'running';
    IF r.action = 'requeue' THEN
        SELECT count(*) INTO v_due FROM (SELECT FROM appstore.inbox_ready AS d WHERE d.run_at <= v_now LIMIT c_step) AS due;
        IF v_due >= c_step THEN
            r.pace := least(r.pace * 1.5, interval '10 seconds');
            r.next_step_at := v_now + r.pace / 4;
            RETURN r;
        END IF;
        r.pace := CASE WHEN v_due < 100 THEN greatest(r.pace * 0.8, interval '100 milliseconds')
                       ELSE least(r.pace * 1.25, interval '10 seconds') END;
    END IF;

    WITH looked AS MATERIALIZED (
        SELECT o.event_id,
               o.settled_at < r.requested_at AND appstore.fits(o, v_filter)
                   AND (r.action = 'requeue' OR o.result IN ('failed', 'rejected', 'unhandled')) AS fits
        FROM appstore.outcomes AS o
        WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
        ORDER BY o.event_id LIMIT c_look
    )
    SELECT ARRAY(SELECT looked.event_id FROM looked WHERE looked.fits ORDER BY looked.event_id LIMIT c_step), count(*), max(looked.event_id)
    INTO v_found, v_looked, v_last
    FROM looked;

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

    r.walked_to := CASE WHEN cardinality(v_found) = c_step THEN v_found[c_step] ELSE coalesce(v_last, r.last_event_id) END;
    r.events_repaired := r.events_repaired + coalesce(cardinality(v_done), 0);
    r.steps := r.steps + 1;
    r.next_step_at := clock_timestamp() + v_spread;
    IF cardinality(v_found) < c_step AND v_looked < c_look THEN
        r.state := 'done';
        r.finished_at := clock_timestamp();
    END IF;
    RETURN r;
END
$$;

-- One step of a request that is due for it and that no other worker has in its hands; returns the request's number, its state and the
-- events of this step; no row when there is none. An error is kept in the row and the step tried again, at longer and longer intervals;
-- after twenty in a row the request is `failed`. For the worker.
CREATE FUNCTION appstore.repair_step() RETURNS TABLE (repair_id bigint, action text, state text, events bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_before appstore.repairs;
    v_after  appstore.repairs;
    v_error  text;
BEGIN
    SELECT r.* INTO v_before FROM appstore.repairs AS r
    WHERE r.state IN ('requested', 'running') AND r.next_step_at <= v_now
    ORDER BY r.next_step_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    BEGIN
        v_after := appstore.carry_on_repair(v_before);
        v_after.failures := 0;
        v_after.error := NULL;
    EXCEPTION WHEN OTHERS THEN
        v_error := SQLERRM;
        v_after := v_before;
        v_after.failures := v_before.failures + 1;
        v_after.error := v_error;
        v_after.next_step_at := clock_timestamp() + least(interval '1 second' * 2 ^ v_before.failures, interval '1 minute');
        IF v_after.failures >= 20 THEN
            v_after.state := 'failed';
            v_after.finished_at := clock_timestamp();
        END IF;
    END;
    UPDATE appstore.repairs AS r
    SET state = v_after.state, walked_to = v_after.walked_to, events_repaired = v_after.events_repaired, steps = v_after.steps,
        started_at = v_after.started_at, next_step_at = v_after.next_step_at, pace = v_after.pace, finished_at = v_after.finished_at,
        failures = v_after.failures, error = v_after.error
    WHERE r.repair_id = v_before.repair_id;
    RETURN QUERY SELECT v_before.repair_id, v_before.action, v_after.state, v_after.events_repaired - v_before.events_repaired;
END
$$;

-- Runs the events again that every given condition fits. dry_run only counts them. Up to max_events (at most 1,000) are requeued at once,
-- oldest first. With max_events => NULL it is all of them: beyond 1,000 a request is written, which the worker carries out in steps (see
-- appstore.repairs, appstore.stop_repair). Returns the number of events that were requeued, or that the request is about.
CREATE OR REPLACE FUNCTION appstore.requeue(
    outcome text DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment text DEFAULT NULL, bundle_id text DEFAULT NULL,
    received_from timestamptz DEFAULT NULL, received_before timestamptz DEFAULT NULL,
    max_events integer DEFAULT 1000, dry_run boolean DEFAULT false, note text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_json   jsonb := appstore.repair_conditions(outcome, reason, notification_type, subtype, environment, bundle_id, received_from,
                                                 received_before);
    v_filter appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, v_json);
    v_events bigint[];
    v_repair bigint;
BEGIN
    IF max_events NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000, or null for all events' USING ERRCODE = 'invalid_parameter_value';
    ELSIF dry_run THEN
        RETURN appstore.count_repair('requeue', v_json, max_events);
    ELSIF max_events IS NULL AND appstore.count_repair('requeue', v_json, 1001) > 1000 THEN
        v_repair := appstore.request_repair('requeue', v_json, note);
        RAISE NOTICE 'repair % has been requested: SELECT * FROM appstore.repairs WHERE repair_id = %', v_repair, v_repair;
        RETURN (SELECT r.events_expected FROM appstore.repairs AS r WHERE r.repair_id = v_repair);
    END IF;
    SELECT coalesce(array_agg(found.event_id), '{}') INTO v_events
    FROM (
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE appstore.fits(o, v_filter)
        ORDER BY o.event_id LIMIT coalesce(max_events, 1000)
    ) AS found;
    RETURN appstore.requeue_settled(v_events, note, v_json);
END
$$;

-- Ends the events that every given condition fits and that have not been applied: failed, rejected and unhandled ones. Everything else is
-- as with requeue.
CREATE FUNCTION appstore.discard(
    why text,
    outcome text DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment text DEFAULT NULL, bundle_id text DEFAULT NULL,
    received_from timestamptz DEFAULT NULL, received_before timestamptz DEFAULT NULL,
    max_events integer DEFAULT 1000, dry_run boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_json   jsonb := appstore.repair_conditions(outcome, reason, notification_type, subtype, environment, bundle_id, received_from,
                                                 received_before);
    v_filter appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, v_json);
    v_events bigint[];
    v_repair bigint;
BEGIN
    IF coalesce(btrim(why), '') = '' THEN
        RAISE EXCEPTION 'say why the events are discarded' USING ERRCODE = 'invalid_parameter_value';
    ELSIF max_events NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000, or null for all events' USING ERRCODE = 'invalid_parameter_value';
    ELSIF dry_run THEN
        RETURN appstore.count_repair('discard', v_json, max_events);
    ELSIF max_events IS NULL AND appstore.count_repair('discard', v_json, 1001) > 1000 THEN
        v_repair := appstore.request_repair('discard', v_json, why);
        RAISE NOTICE 'repair % has been requested: SELECT * FROM appstore.repairs WHERE repair_id = %', v_repair, v_repair;
        RETURN (SELECT r.events_expected FROM appstore.repairs AS r WHERE r.repair_id = v_repair);
    END IF;
    SELECT coalesce(array_agg(found.event_id), '{}') INTO v_events
    FROM (
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.result IN ('failed', 'rejected', 'unhandled') AND appstore.fits(o, v_filter)
        ORDER BY o.event_id LIMIT coalesce(max_events, 1000)
    ) AS found;
    v_events := appstore.discard_settled(v_events, 'infinity', session_user::text, why);
    IF cardinality(v_events) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'discard', v_events, why, v_json);
    END IF;
    RETURN cardinality(v_events);
END
$$;

-- Ends an event that shall not run (again). What has been applied cannot be undone by it, and is refused. The body is not needed.
CREATE OR REPLACE FUNCTION appstore.discard(event_id bigint, reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_attempts integer;
    v_error    text;
BEGIN
    IF reason IS NULL OR btrim(reason) = '' THEN
        RAISE EXCEPTION 'say why event % is discarded', event_id USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Waits for a worker that has it in its hands.
    DELETE FROM appstore.inbox_ready AS r WHERE r.event_id = discard.event_id RETURNING r.attempts, r.last_error INTO v_attempts, v_error;
    IF FOUND THEN
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(),
               1 + coalesce((SELECT max(h.run) FROM appstore.outcome_history AS h WHERE h.event_id = discard.event_id), 0),
               v_attempts, 'discarded', discard.reason, v_error
        FROM appstore.inbox AS i WHERE i.event_id = discard.event_id;
    ELSIF cardinality(appstore.discard_settled(ARRAY[discard.event_id], 'infinity', session_user::text, discard.reason)) = 0 THEN
        RAISE EXCEPTION 'event % is neither waiting nor failed, rejected or unhandled', event_id USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
    VALUES (clock_timestamp(), session_user, 'discard', ARRAY[discard.event_id], discard.reason);
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT SELECT ON appstore.repairs TO appstore_operator, appstore_viewer, appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.request_repair(text, jsonb, text), appstore.stop_repair(bigint, text),
    appstore.count_repair(text, jsonb, bigint),
    appstore.discard(text, text, text, text, text, text, text, timestamptz, timestamptz, integer, boolean) TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.repair_step() TO appstore_worker;
