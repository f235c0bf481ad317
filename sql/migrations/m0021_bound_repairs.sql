-- Repairs that look only at what they can take, and keep their place in the queue; ageing that stays out of a repair's way.

-- Where the queue began when a repair last looked: nothing that is due lies before it, only dead entries that somebody's snapshot keeps.
ALTER TABLE appstore.repairs ADD COLUMN due_from timestamptz NOT NULL DEFAULT '-infinity';

-- Puts settled events back into the queue, their outcomes into the history: those whose outcome is older than `settled_before` and whose
-- body is still there. They become due one after the other within `spread`. Not for callers: see requeue.
--
-- The body is locked together with the outcome: retention, which deletes bodies, and this cannot both win. As before, but each row is
-- looked up: a merge of both tables, as a planner with old statistics chose, reads all that lies before events that came in last.
CREATE OR REPLACE FUNCTION appstore.put_back(event_ids bigint[], settled_before timestamptz, actor text, spread interval) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_moved bigint[];
BEGIN
    WITH locked AS MATERIALIZED ( -- 1. in key order, as every writer
        SELECT found.event_id, found.bytes
        FROM (SELECT DISTINCT id FROM unnest(put_back.event_ids) AS id ORDER BY id) AS wanted
        CROSS JOIN LATERAL (
            SELECT o.event_id, octet_length(i.body) AS bytes
            FROM appstore.outcomes AS o CROSS JOIN appstore.inbox AS i
            WHERE o.event_id = wanted.id AND i.event_id = wanted.id AND o.settled_at < put_back.settled_before
            FOR UPDATE OF o FOR KEY SHARE OF i
        ) AS found
    ), numbered AS (
        SELECT locked.*, (row_number() OVER (ORDER BY locked.event_id) - 1)::double precision / count(*) OVER () AS position FROM locked
    ), taken AS ( -- 2. the outcome goes into the history
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (ARRAY(SELECT locked.event_id FROM locked)) RETURNING o.*
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
--
-- As before, but found by their ids alone: a planner with old statistics went through all outcomes that need attention instead.
CREATE OR REPLACE FUNCTION appstore.discard_settled(event_ids bigint[], settled_before timestamptz, actor text, reason text)
RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_discarded bigint[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = ANY (discard_settled.event_ids) ORDER BY o.event_id FOR UPDATE
    ), fitting AS MATERIALIZED (
        SELECT locked.* FROM locked
        WHERE locked.settled_at < discard_settled.settled_before AND locked.result IN ('failed', 'rejected', 'unhandled')
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT fitting.*, clock_timestamp(), discard_settled.actor FROM fitting
    ), changed AS (
        UPDATE appstore.outcomes AS o
        SET run = o.run + 1, settled_at = clock_timestamp(), result = 'discarded', reason = discard_settled.reason
        WHERE o.event_id = ANY (ARRAY(SELECT fitting.event_id FROM fitting))
        RETURNING o.event_id
    )
    SELECT coalesce(array_agg(changed.event_id ORDER BY changed.event_id), '{}') INTO v_discarded FROM changed;
    RETURN v_discarded;
END
$$;

-- The events that a repair would take now, at most so many: a discard only what has not been applied, a requeue only what still has its
-- body. Of the outcomes that need attention those that were settled first, else by event id. Not for callers.
--
-- Each result is walked by itself, in the order of its index: what failed in an incident is all at the end of the event ids, where a
-- planner that expects it everywhere would look for it last.
CREATE FUNCTION appstore.find_repair(action text, filter jsonb, max_events integer) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_filter  appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, filter);
    v_results text[] := ARRAY['failed', 'rejected', 'unhandled'] || CASE WHEN action = 'requeue' THEN ARRAY['discarded'] END;
    v_result  text;
    v_left    integer := max_events;
    v_found   integer;
BEGIN
    IF action = 'requeue' AND (v_filter.outcome = ANY (v_results)) IS NOT TRUE THEN
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE appstore.fits(o, v_filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0)
        ORDER BY o.event_id LIMIT v_left;
        RETURN;
    END IF;
    FOREACH v_result IN ARRAY v_results LOOP
        CONTINUE WHEN v_filter.outcome <> v_result;
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.result = v_result AND appstore.fits(o, v_filter)
          AND (action = 'discard' OR EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.settled_at, o.event_id LIMIT v_left;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        v_left := v_left - v_found;
        EXIT WHEN v_left = 0;
    END LOOP;
END
$$;

-- How many events a repair would take now, or how many of these; see find_repair. Without a limit it looks at every outcome.
CREATE OR REPLACE FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_filter appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, filter);
BEGIN
    IF max_events IS NOT NULL THEN
        RETURN (SELECT count(*) FROM appstore.find_repair(action, filter, max_events::integer));
    ELSIF action = 'discard' THEN
        RETURN (SELECT count(*) FROM appstore.outcomes AS o
                WHERE o.result IN ('failed', 'rejected', 'unhandled') AND appstore.fits(o, v_filter));
    END IF;
    RETURN (SELECT count(*) FROM appstore.outcomes AS o
            WHERE appstore.fits(o, v_filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id));
END
$$;

-- Runs the events again that every given condition fits and whose body is still there. dry_run only counts them. Up to max_events (at most
-- 1,000) are requeued at once, oldest first. With max_events => NULL it is all of them: beyond 1,000 a request is written, which the
-- worker carries out in steps (see appstore.repairs, appstore.stop_repair). Returns the number of events that were requeued, or that the
-- request is about.
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
    v_events := ARRAY(SELECT found.event_id FROM appstore.find_repair('requeue', v_json, coalesce(max_events, 1000)) AS found (event_id));
    RETURN appstore.requeue_settled(v_events, note, v_json);
END
$$;

-- Ends the events that every given condition fits and that have not been applied: failed, rejected and unhandled ones. Everything else is
-- as with requeue.
CREATE OR REPLACE FUNCTION appstore.discard(
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
    v_events := ARRAY(SELECT found.event_id FROM appstore.find_repair('discard', v_json, coalesce(max_events, 1000)) AS found (event_id));
    v_events := appstore.discard_settled(v_events, 'infinity', session_user::text, why);
    IF cardinality(v_events) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'discard', v_events, why, v_json);
    END IF;
    RETURN cardinality(v_events);
END
$$;

-- Takes the next events of a request, at most 1,000, and says where it goes on. Not for callers.
--
-- As before, but it counts what is due from where the queue began at the last look: an event that comes in before that is committed within
-- ten seconds of its time. And it passes events that have lost their body.
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
    v_looked  bigint;
    v_last    bigint;
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

    v_found := ARRAY(
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
        WHERE looked.fits LIMIT c_step);
    IF cardinality(v_found) = c_step THEN
        v_last := v_found[c_step];
    ELSE
        -- An outcome that came in between is younger than the request: the walk may pass it.
        SELECT count(*), max(looked.event_id) INTO v_looked, v_last
        FROM (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
            ORDER BY o.event_id LIMIT c_look
        ) AS looked;
    END IF;

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

    r.walked_to := coalesce(v_last, r.last_event_id);
    r.events_repaired := r.events_repaired + coalesce(cardinality(v_done), 0);
    r.steps := r.steps + 1;
    r.next_step_at := clock_timestamp() + v_spread;
    IF v_looked < c_look THEN
        r.state := 'done';
        r.finished_at := clock_timestamp();
    END IF;
    RETURN r;
END
$$;

-- One step of a request that is due for it and that no other worker has in its hands; returns the request's number, its state and the
-- events of this step; no row when there is none. An error is kept in the row and the step tried again, at longer and longer intervals;
-- after twenty in a row the request is `failed`. For the worker.
--
-- As before, but a time-out is an error, too. OTHERS does not stand for it: it left no trace, and the same request came first again.
CREATE OR REPLACE FUNCTION appstore.repair_step() RETURNS TABLE (repair_id bigint, action text, state text, events bigint)
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
    EXCEPTION
        WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
            v_error := SQLERRM;
            v_after := v_before;
            v_after.error := v_error;
            v_after.next_step_at := clock_timestamp() + interval '5 seconds';
        WHEN query_canceled OR OTHERS THEN
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
        failures = v_after.failures, error = v_after.error, due_from = v_after.due_from
    WHERE r.repair_id = v_before.repair_id;
    RETURN QUERY SELECT v_before.repair_id, v_before.action, v_after.state, v_after.events_repaired - v_before.events_repaired;
END
$$;

-- Looks at a piece of a partition that gets no new events; when of the whole of it at most 100 events must be kept (those without outcome,
-- or with a younger one), moves these to the default partition and takes it out of the inbox. The next call drops it, which takes as long
-- as deleting its files and is in nobody's way. Says what it did: `checked`, `postponed`, `detached`, `dropped`; no row when there is
-- nothing to do. Only detaching needs the inbox for itself, for some milliseconds; it gives up after 100 ms (55P03) without having changed
-- anything, and the caller comes again. For the worker.
--
-- As before, but it waits until no repair is going on, and for another hour when 10,000 events have been repaired since its look began: for
-- as long as it has the inbox for itself it reads what was repaired meanwhile.
CREATE OR REPLACE FUNCTION appstore.drop_aged_partition() RETURNS TABLE (did text, partition text, kept integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_piece  CONSTANT integer := 50000;
    c_keep   CONSTANT integer := 100;
    c_lately CONSTANT integer := 10000;
    v_now    timestamptz := clock_timestamp();
    v_cutoff timestamptz := coalesce((SELECT v_now - r.bodies FROM appstore.retention AS r), '-infinity');
    v_part   record;
    v_check  appstore.partition_checks;
    v_looked bigint;
    v_lowest bigint;
    v_lately bigint;  -- how many events were repaired since the look at this partition began
    v_kept   bigint[];
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN;
    END IF;
    SELECT c.relname::text AS partition INTO v_part FROM pg_class AS c
    WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'aged\_inbox\_%' LIMIT 1;
    IF FOUND THEN
        EXECUTE format('DROP TABLE appstore.%I', v_part.partition);
        RETURN QUERY SELECT 'dropped', substr(v_part.partition, 6), 0;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM appstore.repairs AS r WHERE r.state IN ('requested', 'running')) THEN
        RETURN; -- what it puts back must be looked at while nobody else can use the inbox
    END IF;
    SELECT p.partition, p.from_id, p.to_id INTO v_part
    FROM appstore.inbox_partitions AS p LEFT JOIN appstore.partition_checks AS c ON c.partition = p.partition
    WHERE p.is_past AND coalesce(c.not_before, '-infinity') <= v_now
    ORDER BY p.from_id LIMIT 1;
    IF v_part.partition IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.partition_checks AS c (partition, began_at, checked_to) VALUES (v_part.partition, v_now, v_part.to_id)
    ON CONFLICT (partition) DO UPDATE
    SET began_at = excluded.began_at, checked_to = excluded.checked_to, kept = '{}', not_before = '-infinity'
    WHERE c.not_before > '-infinity';
    SELECT c.* INTO v_check FROM appstore.partition_checks AS c WHERE c.partition = v_part.partition;

    -- 1. The next piece, from above: the youngest events, which forbid it, are found first.
    EXECUTE format(
        'SELECT count(*), min(l.event_id), coalesce(array_agg(l.event_id) FILTER (WHERE NOT l.has_aged), ''{}'') '
        'FROM (SELECT i.event_id, EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id AND o.settled_at < $1 OFFSET 0) '
        'AS has_aged FROM appstore.%I AS i WHERE i.event_id < $2 ORDER BY i.event_id DESC LIMIT $3) AS l', v_part.partition)
    INTO v_looked, v_lowest, v_kept USING v_cutoff, v_check.checked_to, c_piece;
    v_kept := v_check.kept || v_kept;
    SELECT count(*) INTO v_lately FROM (
        SELECT FROM appstore.outcome_history AS h WHERE h.replaced_at >= v_check.began_at - interval '5 minutes'
        ORDER BY h.replaced_at LIMIT c_lately) AS lately;
    IF cardinality(v_kept) > c_keep OR v_lately = c_lately THEN
        UPDATE appstore.partition_checks AS c SET not_before = v_now + interval '1 hour', kept = '{}' WHERE c.partition = v_part.partition;
        RETURN QUERY SELECT 'postponed', v_part.partition, cardinality(v_kept);
        RETURN;
    ELSIF v_looked = c_piece THEN
        UPDATE appstore.partition_checks AS c SET checked_to = v_lowest, kept = v_kept WHERE c.partition = v_part.partition;
        RETURN QUERY SELECT 'checked', v_part.partition, cardinality(v_kept);
        RETURN;
    END IF;

    -- 2. Alone with the inbox, look at what happened since the first piece: requeued events wait, or have got a young outcome.
    LOCK TABLE ONLY appstore.inbox IN ACCESS EXCLUSIVE MODE;
    v_kept := ARRAY(
        SELECT unnest(v_kept)
        UNION SELECT r.event_id FROM appstore.inbox_ready AS r WHERE r.event_id >= v_part.from_id AND r.event_id < v_part.to_id
        UNION SELECT h.event_id FROM appstore.outcome_history AS h
        WHERE h.replaced_at >= v_check.began_at - interval '5 minutes' AND h.event_id >= v_part.from_id AND h.event_id < v_part.to_id);
    DELETE FROM appstore.partition_checks AS c WHERE c.partition = v_part.partition;
    IF cardinality(v_kept) > c_keep THEN
        RETURN QUERY SELECT 'postponed', v_part.partition, cardinality(v_kept);
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE appstore.inbox DETACH PARTITION appstore.%I', v_part.partition);
    EXECUTE format('INSERT INTO appstore.inbox SELECT i.* FROM appstore.%I AS i WHERE i.event_id = ANY ($1)', v_part.partition)
    USING v_kept;
    EXECUTE format('ALTER TABLE appstore.%I RENAME TO %I', v_part.partition, 'aged_' || v_part.partition);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
    VALUES (clock_timestamp(), 'retention', 'drop_partition', '{}',
            jsonb_build_object('partition', v_part.partition, 'from', v_part.from_id, 'to', v_part.to_id, 'kept', cardinality(v_kept)));
    RETURN QUERY SELECT 'detached', v_part.partition, cardinality(v_kept);
END
$$;

-- The state of the inbox, as before (see m0018), but what waits is counted once: it used to be counted anew for each number that it is in.
CREATE OR REPLACE FUNCTION appstore.inbox_statistics(
    OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval,
    OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval,
    OUT snapshot_transactions bigint, OUT sees_all_sessions boolean
)
-- Only index scans bound what is read, whatever the planner thinks of the sizes.
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH first_due AS MATERIALIZED ( -- 1. the queue from its front; dead entries before it are passed once
        SELECT r.run_at FROM appstore.inbox_ready AS r ORDER BY r.run_at, r.event_id LIMIT 1
    ), queue AS MATERIALIZED (
        SELECT coalesce((
                   SELECT due.events FROM first_due
                   CROSS JOIN LATERAL (
                       SELECT count(*) AS events FROM (
                           SELECT FROM appstore.inbox_ready AS r
                           WHERE r.run_at >= first_due.run_at AND r.run_at <= statement_timestamp()
                           ORDER BY r.run_at, r.event_id LIMIT 10000
                       ) AS one
                   ) AS due
               ), 0) AS ready,
               (SELECT count(*) FROM (
                    SELECT FROM appstore.inbox_ready AS r WHERE r.run_at > statement_timestamp()
                    ORDER BY r.run_at, r.event_id LIMIT 10000
               ) AS one) AS waiting
    ), snapshots AS ( -- 2. who keeps dead rows
        SELECT statement_timestamp() - a.xact_start AS age, age(a.backend_xmin)::bigint AS transactions
        FROM pg_stat_activity AS a
        WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
          AND (a.datname = current_database() OR a.datname IS NULL)
        UNION ALL
        SELECT NULL, age(s.xmin)::bigint FROM pg_replication_slots AS s WHERE s.xmin IS NOT NULL
        UNION ALL
        SELECT statement_timestamp() - p.prepared, age(p.transaction)::bigint FROM pg_prepared_xacts AS p
        WHERE p.database = current_database()
    )
    SELECT q.ready, q.waiting,
           CASE WHEN q.ready < 10000 AND q.waiting < 10000 THEN q.ready + q.waiting
                ELSE greatest(q.ready + q.waiting, pg_stat_get_live_tuples('appstore.inbox_ready'::regclass)) END,
           (SELECT count(*) FROM (SELECT FROM appstore.inbox_ready AS r WHERE r.is_suspect LIMIT 10000) AS one),
           (SELECT count(*) FROM (
                SELECT FROM appstore.outcomes AS o WHERE o.result = 'failed' ORDER BY o.result, o.settled_at LIMIT 10000
           ) AS one),
           (SELECT statement_timestamp() - d.run_at FROM first_due AS d WHERE d.run_at <= statement_timestamp()),
           (SELECT statement_timestamp() - i.received_at
            FROM (SELECT r.event_id FROM appstore.inbox_ready AS r ORDER BY r.event_id LIMIT 1) AS oldest
            CROSS JOIN LATERAL (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = oldest.event_id OFFSET 0) AS i),
           statement_timestamp() - coalesce(
               (SELECT newest.received_at
                FROM (SELECT o.event_id, o.received_at, o.source, o.result FROM appstore.outcomes AS o
                      ORDER BY o.event_id DESC LIMIT 10000) AS newest
                WHERE newest.source LIKE 'notification%' AND newest.result NOT IN ('rejected', 'failed', 'discarded')
                ORDER BY newest.event_id DESC LIMIT 1),
               (SELECT o.received_at FROM appstore.outcomes AS o ORDER BY o.event_id DESC OFFSET 9999 LIMIT 1)),
           (SELECT count(*) FROM appstore.inbox_in_flight AS f WHERE f.lost_at IS NOT NULL OR f.given_up IS NOT NULL),
           (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = 'appstore.inbox'::regclass),
           (SELECT greatest(max(s.age), interval '0') FROM snapshots AS s),
           (SELECT coalesce(max(s.transactions), 0) FROM snapshots AS s),
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
    FROM queue AS q
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
