-- Repairs of all events that meet conditions: kept in appstore.repairs, and taken in steps that outlive a session, and a process.

CREATE OR REPLACE FUNCTION appstore.check_repair(action text, filter appstore.repair_filter, note text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_conditions jsonb := jsonb_strip_nulls(to_jsonb(filter));
BEGIN
    IF coalesce(v_conditions, '{}') = '{}' THEN
        RAISE EXCEPTION 'a repair needs at least one condition' USING ERRCODE = 'invalid_parameter_value', HINT =
            'Conditions are result, reason, notification_type, subtype, environment, bundle_id, received_from and received_before.';
    ELSIF action IS NULL OR action NOT IN ('requeue', 'discard') THEN
        RAISE EXCEPTION 'there is no repair %', quote_nullable(action) USING ERRCODE = 'invalid_parameter_value', HINT =
            'Repairs are requeue and discard.';
    ELSIF action = 'discard' AND coalesce(btrim(note), '') = '' THEN
        RAISE EXCEPTION 'a discard needs a reason' USING ERRCODE = 'invalid_parameter_value', HINT =
            'It becomes the reason of the outcomes.';
    END IF;
    RETURN v_conditions;
END
$$;
COMMENT ON FUNCTION appstore.check_repair IS
    'Returns the conditions of a repair as JSON, without nulls. Fails for invalid or contradictory conditions.';

CREATE OR REPLACE FUNCTION appstore.count_repair(
    action text, filter appstore.repair_filter, at_most bigint DEFAULT NULL, max_checked bigint DEFAULT 5000000)
RETURNS TABLE (result appstore.result, events bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_others  appstore.repair_filter := filter;
    v_reasons text;
    v_is_cut  boolean;
BEGIN
    PERFORM appstore.check_repair(action, filter, '-');
    FOR result, events, v_is_cut IN
        SELECT f.result, count(*), bool_or(f.is_cut)
        FROM appstore.find_outcomes(filter, action, max_rows => at_most, max_checked => max_checked) AS f GROUP BY f.result ORDER BY f.result
    LOOP
        IF v_is_cut THEN
            RAISE EXCEPTION 'the events that meet the conditions are among more than %', max_checked USING ERRCODE = 'program_limit_exceeded',
                HINT = 'Add a condition, such as result or received_from, or begin the repair with max_events, which counts none.';
        END IF;
        RETURN NEXT;
    END LOOP;
    IF FOUND OR filter.reason IS NULL THEN
        RETURN;
    END IF;
    -- The reason may be misspelt.
    v_others.reason := NULL;
    SELECT string_agg(format('%s (%s)', counted.reason, counted.events), ', ' ORDER BY counted.events DESC, counted.reason COLLATE "C")
    INTO v_reasons
    FROM (
        SELECT known.reason, count(*) AS events
        FROM (SELECT o.reason FROM appstore.outcomes AS o
              WHERE o.result IN ('failed', 'rejected', 'unhandled', 'discarded') AND appstore.matches_filter(o, v_others)
              LIMIT 100000) AS known -- enough for a hint
        GROUP BY known.reason ORDER BY events DESC, known.reason COLLATE "C" LIMIT 10
    ) AS counted;
    RAISE NOTICE 'no event with the reason % was found', quote_literal(filter.reason) USING HINT =
        coalesce('With the other conditions there are: ' || v_reasons || '.', 'There is none with the other conditions either.');
END
$$;
COMMENT ON FUNCTION appstore.count_repair IS
    'How many outcomes of each result a repair (requeue or discard) would take now; it stops at at_most, if given. It fails where it has checked '
    'max_checked outcomes before. Of none: a notice names up to ten reasons that occur with the other conditions.';

CREATE OR REPLACE FUNCTION appstore.begin_repair(
    action text, filter appstore.repair_filter, note text /* null */, max_events bigint DEFAULT NULL, dry_run boolean DEFAULT false,
    OUT repair_id bigint, OUT events bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    c_counted CONSTANT bigint := 10000; -- the most events that are counted before a repair
    v_id      bigint;
BEGIN
    PERFORM appstore.check_repair(action, filter, note),
            appstore.check_argument(coalesce(max_events > 0, true), 'max_events must be at least 1', 'null takes all, of up to 10,000.');
    events := max_events;
    IF dry_run OR max_events IS NULL THEN
        events := (SELECT coalesce(sum(c.events), 0)
                   FROM appstore.count_repair(action, filter, CASE WHEN dry_run THEN max_events ELSE c_counted + 1 END) AS c);
        IF dry_run OR events = 0 THEN
            RETURN;
        END IF;
        PERFORM appstore.check_argument(events <= c_counted, 'more than 10,000 events meet the conditions',
                                        'Pass max_events: the repair ends when it has repaired as many. dry_run => true counts all.');
    END IF;
    -- What is asked for twice, such as by a form that is sent twice.
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.begin_repair', 0));
    SELECT r.repair_id INTO v_id FROM appstore.repairs AS r
    WHERE r.state = 'running' AND r.action = begin_repair.action AND r.filter IS NOT DISTINCT FROM begin_repair.filter;
    PERFORM appstore.check_argument(v_id IS NULL, format('repair %s does the same and is running', v_id),
                                    'Wait for its end, or stop it: appstore.repair_status shows it.');
    -- What is settled from now on was not in the count. The console says whether the actor is a login: the name of a person whom its proxy
    -- names may also be that of one.
    INSERT INTO appstore.repairs AS r (action, filter, note, actor, login, expected)
    VALUES (action, filter, note, appstore.actor(),
            (SELECT a.oid FROM pg_roles AS a
             WHERE a.rolname = appstore.actor()
               AND (session_user <> 'appstore_console' OR current_setting('appstore.actor_is_login', true) IS DISTINCT FROM 'false')),
            events)
    RETURNING r.repair_id INTO repair_id;
END
$$;
COMMENT ON FUNCTION appstore.begin_repair IS
    'Asks for a repair of the events that meet the conditions and were settled before, and returns its number, and the most events that it will '
    'repair: max_events, or, without it, those that it counts, at most 10,000. Workers take its steps, appstore.repair_status shows it, and '
    'appstore.stop_repair ends it. dry_run only counts, up to max_events. The number is null with dry_run, and where it has counted none.';

CREATE OR REPLACE FUNCTION appstore.requeue(
    result appstore.result DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment appstore.environment DEFAULT NULL, bundle_id text DEFAULT NULL, received_from timestamptz DEFAULT NULL,
    received_before timestamptz DEFAULT NULL, note text DEFAULT NULL, max_events bigint DEFAULT NULL, dry_run boolean DEFAULT false,
    OUT repair_id bigint, OUT events bigint)
LANGUAGE sql AS $$
    SELECT r.repair_id, r.events
    FROM appstore.begin_repair(
        'requeue', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before)::appstore.repair_filter,
        note, max_events, dry_run) AS r
$$;
COMMENT ON FUNCTION appstore.requeue IS
    'Begins a repair that runs all events again that meet every given condition and still have their body, at a pace that lets fresh events go '
    'first. Returns what appstore.begin_repair does.';

CREATE OR REPLACE FUNCTION appstore.discard(
    result appstore.result DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment appstore.environment DEFAULT NULL, bundle_id text DEFAULT NULL, received_from timestamptz DEFAULT NULL,
    received_before timestamptz DEFAULT NULL, note text DEFAULT NULL, max_events bigint DEFAULT NULL, dry_run boolean DEFAULT false,
    OUT repair_id bigint, OUT events bigint)
LANGUAGE sql AS $$
    SELECT r.repair_id, r.events
    FROM appstore.begin_repair(
        'discard', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before)::appstore.repair_filter,
        note, max_events, dry_run) AS r
$$;
COMMENT ON FUNCTION appstore.discard IS
    'Begins a repair that discards all failed, rejected and unhandled events that meet every given condition. note becomes their reason, which is '
    'kept for ever: appstore.forget does not erase it. Returns what appstore.begin_repair does.';

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

CREATE OR REPLACE FUNCTION appstore.repair_step(r appstore.repairs) RETURNS appstore.repairs
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    c_repaired CONSTANT bigint := 1000;  -- the most events that a step repairs
    c_checked  CONSTANT bigint := 20000; -- the most outcomes that it checks
    v_now      timestamptz := clock_timestamp();
    v_due      bigint;
    v_first    timestamptz;
    v_most     bigint := least(c_repaired, r.expected - r.repaired);
    v_rows     bigint := 0;
    v_found    bigint[] := '{}';
    v_outcome  record;
    v_is_done  boolean := true;
    v_spread   interval := '0';
BEGIN
    -- 1. Fresh events must not queue behind the repair: no step runs while 1,000 events are due, and the fewer are due, the shorter the
    --    interval between requeued events. The count starts where the queue began at the latest step: an event from before is committed
    --    within ten seconds of its time.
    IF r.action = 'requeue' THEN
        SELECT count(*), min(due.run_at) INTO v_due, v_first
        FROM (SELECT q.run_at FROM appstore.inbox_queue AS q WHERE q.run_at >= r.due_from AND q.run_at <= v_now
              ORDER BY q.run_at, q.event_id LIMIT c_repaired) AS due;
        r.due_from := greatest(r.due_from, least(v_first, v_now - interval '10 seconds'));
        r.pace := r.pace * CASE WHEN v_due >= c_repaired THEN 1.5 WHEN v_due < 100 THEN 0.8 ELSE 1.25 END;
        r.pace := least(greatest(r.pace, interval '100 milliseconds'), interval '10 seconds');
        IF v_due >= c_repaired THEN
            r.run_at := v_now + r.pace / 4;
            RETURN r;
        END IF;
    END IF;

    -- 2. The next outcomes, in the order in which they were settled. What is settled from now on lies behind the end of the walk.
    FOR v_outcome IN
        SELECT f.* FROM appstore.find_outcomes(r.filter, r.action, after_at => r.checked_at, after_event_id => r.checked_event_id,
                                               before_at => r.asked_at, max_rows => v_most, max_checked => c_checked) AS f
    LOOP
        v_rows := v_rows + 1;
        r.checked_at := v_outcome.settled_at;
        r.checked_event_id := v_outcome.event_id;
        IF v_outcome.is_found THEN
            v_found := v_found || v_outcome.event_id;
        END IF;
        v_is_done := v_rows < v_most AND NOT v_outcome.is_cut;
    END LOOP;

    -- 3. The repair.
    IF r.action = 'requeue' THEN
        v_spread := cardinality(v_found)::double precision / c_repaired * r.pace;
    END IF;
    r.repaired := r.repaired + cardinality(appstore.repair_outcomes(
        r.action, v_found, r.asked_at, v_spread, r.actor, r.note, jsonb_strip_nulls(to_jsonb(r.filter))));
    r.run_at := clock_timestamp() + v_spread;
    IF v_is_done OR r.repaired >= r.expected THEN
        r.state := 'done';
        r.ended_at := clock_timestamp();
    END IF;
    RETURN r;
END
$$;
COMMENT ON FUNCTION appstore.repair_step IS
    'Repairs the next events of a repair, at most 1,000, and returns its row as it is after that. It may repair none while many fresh events are '
    'due.';

CREATE OR REPLACE FUNCTION appstore.take_repair_step(OUT repair_id bigint, OUT pause double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_next   bigint;
    v_repair appstore.repairs;
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

    -- 2. Its step. A login that is gone has no right.
    IF v_repair.login IS NOT NULL AND NOT EXISTS (
           SELECT FROM pg_roles AS a
           WHERE a.oid = v_repair.login AND pg_has_role(a.oid, 'appstore_operator', 'MEMBER')
             AND a.rolcanlogin AND (a.rolvaliduntil IS NULL OR a.rolvaliduntil > clock_timestamp())) THEN
        UPDATE appstore.repairs AS r SET state = 'stopped', ended_at = clock_timestamp(), last_error = v_repair.actor || ' is no operator now'
        WHERE r.repair_id = v_repair.repair_id AND r.state = 'running';
    ELSIF repair_id IS NOT NULL THEN
        BEGIN
            v_repair := appstore.repair_step(v_repair);
            -- It may have been stopped meanwhile: what this step has repaired counts all the same.
            UPDATE appstore.repairs AS r
            SET repaired = v_repair.repaired, checked_at = v_repair.checked_at, checked_event_id = v_repair.checked_event_id,
                pace = v_repair.pace, due_from = v_repair.due_from, run_at = v_repair.run_at, last_error = NULL,
                state = CASE WHEN r.state = 'running' THEN v_repair.state ELSE r.state END,
                ended_at = CASE WHEN r.state = 'running' THEN v_repair.ended_at ELSE r.ended_at END
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
    -- A step that is due and was not taken is in flight elsewhere.
    pause := (SELECT greatest(extract(epoch FROM min(r.run_at) - clock_timestamp()), CASE WHEN v_repair.repair_id IS NULL THEN 0.1 ELSE 0 END)
              FROM appstore.repairs AS r WHERE r.state = 'running' HAVING count(*) > 0);
END
$$;
COMMENT ON FUNCTION appstore.take_repair_step IS
    'Takes the next step of the repair that is due first, in the name of the person who asked for it, and returns its number, and after how many '
    'seconds the next one is due; null where none is running. Workers call it, any number of them at once; without one, an operator may.';
