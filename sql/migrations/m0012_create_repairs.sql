-- Repairs of any size: up to 1,000 events at once, more by a request that the worker carries out in steps.

-- What a repair is about; a null condition fits everything.
CREATE TYPE appstore.repair_filter AS (
    outcome           text,
    reason            text,
    notification_type text,
    subtype           text,
    environment       text,
    bundle_id         text,
    received_from     timestamptz,
    received_before   timestamptz
);

-- Requests for repairs of more events than one transaction should touch. The worker walks the outcomes by event id and keeps its place
-- here, in the transaction that repairs: a crash at any point repeats nothing and skips nothing. An event is taken at most once, for the
-- walk never goes back, and only if its outcome is older than the request.
CREATE TABLE appstore.repairs (
    repair_id       bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action          text        NOT NULL,
    filter          jsonb       NOT NULL,
    note            text,                   -- of a discard: the reason that its outcomes get
    requested_at    timestamptz NOT NULL,
    requested_by    text        NOT NULL,
    events_expected bigint      NOT NULL,   -- how many fitted when it was requested
    last_event_id   bigint      NOT NULL,   -- the walk ends here
    -- Progress.
    state           text        NOT NULL DEFAULT 'requested',
    walked_to       bigint      NOT NULL DEFAULT 0,
    events_repaired bigint      NOT NULL DEFAULT 0,
    steps           integer     NOT NULL DEFAULT 0,
    started_at      timestamptz,
    next_step_at    timestamptz NOT NULL,
    pace            interval    NOT NULL DEFAULT '1 second', -- over which the events of a whole step are spread
    finished_at     timestamptz,
    stopped_by      text,
    failures        integer     NOT NULL DEFAULT 0,          -- since the last step that succeeded
    error           text,
    CONSTRAINT repairs_action_is_known CHECK (action IN ('requeue', 'discard')),
    CONSTRAINT repairs_state_is_known CHECK (state IN ('requested', 'running', 'done', 'stopped', 'failed')),
    CONSTRAINT repairs_discard_says_why CHECK (action <> 'discard' OR btrim(note) <> ''),
    CONSTRAINT repairs_finished_when_over CHECK ((state IN ('done', 'stopped', 'failed')) = (finished_at IS NOT NULL)),
    CONSTRAINT repairs_stopped_by_somebody CHECK ((state = 'stopped') = (stopped_by IS NOT NULL)),
    CONSTRAINT repairs_failed_with_error CHECK (state <> 'failed' OR error IS NOT NULL)
);
-- What the worker asks for every second.
CREATE INDEX repairs_unfinished ON appstore.repairs (next_step_at) WHERE state IN ('requested', 'running');

-- Whether an outcome is one that a filter is about. PostgreSQL writes it into the query around it, where null conditions vanish.
CREATE FUNCTION appstore.fits(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (f.outcome IS NULL OR o.result = f.outcome)
       AND (f.reason IS NULL OR o.reason = f.reason)
       AND (f.notification_type IS NULL OR o.notification_type = f.notification_type)
       AND (f.subtype IS NULL OR o.subtype = f.subtype)
       AND (f.environment IS NULL OR o.environment = f.environment)
       AND (f.bundle_id IS NULL OR o.bundle_id = f.bundle_id)
       AND (f.received_from IS NULL OR o.received_at >= f.received_from)
       AND (f.received_before IS NULL OR o.received_at < f.received_before)
$$;

-- The conditions as a filter; refuses none at all, and outcomes that do not exist.
CREATE FUNCTION appstore.repair_conditions(
    outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamptz,
    received_before timestamptz)
RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_filter jsonb := jsonb_strip_nulls(jsonb_build_object(
        'outcome', outcome, 'reason', reason, 'notification_type', notification_type, 'subtype', subtype, 'environment', environment,
        'bundle_id', bundle_id, 'received_from', received_from, 'received_before', received_before));
BEGIN
    IF v_filter = '{}' THEN
        RAISE EXCEPTION 'name at least one condition: outcome, reason, notification_type, subtype, environment, bundle_id, '
                        'received_from, received_before'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF outcome NOT IN ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected', 'failed', 'discarded') THEN
        RAISE EXCEPTION 'outcome % is none of applied, superseded, no_effect, duplicate, unhandled, rejected, failed, discarded',
            quote_literal(outcome) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN v_filter;
END
$$;

-- How many events a repair would take now. A discard takes only what has not been applied; a requeue only what still has its body, which
-- is looked at when it is taken.
CREATE FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_filter appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, filter);
    v_count  bigint;
BEGIN
    IF action = 'discard' THEN
        SELECT count(*) INTO v_count FROM (
            SELECT FROM appstore.outcomes AS o
            WHERE o.result IN ('failed', 'rejected', 'unhandled') AND appstore.fits(o, v_filter) LIMIT max_events) AS found;
    ELSE
        SELECT count(*) INTO v_count FROM (
            SELECT FROM appstore.outcomes AS o WHERE appstore.fits(o, v_filter) LIMIT max_events) AS found;
    END IF;
    RETURN v_count;
END
$$;

-- Puts settled events back into the queue, their outcomes into the history: those whose outcome is older than `settled_before` and whose
-- body is still there. They become due one after the other within `spread`. Not for callers: see requeue.
--
-- The body is locked together with the outcome: retention, which deletes bodies, and this cannot both win.
CREATE FUNCTION appstore.put_back(event_ids bigint[], settled_before timestamptz, actor text, spread interval) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_moved bigint[];
BEGIN
    WITH locked AS MATERIALIZED ( -- 1. in key order, as every writer
        SELECT o.event_id, octet_length(i.body) AS bytes
        FROM appstore.outcomes AS o JOIN appstore.inbox AS i ON i.event_id = o.event_id
        WHERE o.event_id = ANY (put_back.event_ids) AND o.settled_at < put_back.settled_before
        ORDER BY o.event_id
        FOR UPDATE OF o FOR KEY SHARE OF i
    ), numbered AS (
        SELECT locked.*, (row_number() OVER (ORDER BY locked.event_id) - 1)::double precision / count(*) OVER () AS position FROM locked
    ), taken AS ( -- 2. the outcome goes into the history
        DELETE FROM appstore.outcomes AS o USING locked WHERE o.event_id = locked.event_id RETURNING o.*
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT taken.*, clock_timestamp(), put_back.actor FROM taken
    ), back AS ( -- 3. the event into the queue
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT n.event_id, clock_timestamp() + n.position * put_back.spread, n.bytes
        FROM numbered AS n JOIN taken ON taken.event_id = n.event_id
        RETURNING inbox_ready.event_id
    )
    SELECT coalesce(array_agg(back.event_id ORDER BY back.event_id), '{}') INTO v_moved FROM back;
    RETURN v_moved;
END
$$;

-- Gives events that were not applied the outcome `discarded`. Not for callers: see discard.
CREATE FUNCTION appstore.discard_settled(event_ids bigint[], settled_before timestamptz, actor text, reason text) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_discarded bigint[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT o.* FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (discard_settled.event_ids) AND o.settled_at < discard_settled.settled_before
          AND o.result IN ('failed', 'rejected', 'unhandled')
        ORDER BY o.event_id FOR UPDATE
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT locked.*, clock_timestamp(), discard_settled.actor FROM locked
    ), changed AS (
        UPDATE appstore.outcomes AS o
        SET run = o.run + 1, settled_at = clock_timestamp(), result = 'discarded', reason = discard_settled.reason
        FROM locked WHERE o.event_id = locked.event_id
        RETURNING o.event_id
    )
    SELECT coalesce(array_agg(changed.event_id ORDER BY changed.event_id), '{}') INTO v_discarded FROM changed;
    RETURN v_discarded;
END
$$;

-- As before, but never loses the outcome of an event whose body is gone.
CREATE OR REPLACE FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_moved bigint[] := appstore.put_back(event_ids, 'infinity', session_user::text, interval '0');
BEGIN
    IF cardinality(v_moved) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'requeue', v_moved, requeue_settled.note, requeue_settled.filter);
    END IF;
    RETURN cardinality(v_moved);
END
$$;

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
