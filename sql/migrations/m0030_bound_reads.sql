-- What is read follows from what is asked, also while many calls wait because nobody answers, and while many events do.

-- When each open call's time is over: what is given up was looked for among all that are open. It takes the place of the index of all open
-- calls by the time when they were asked for, so that a call costs as much as before. Only those that wait for their fallback have an index
-- in that order now: while both were almost empty a planner could take either, and keep the one with all open calls in it.
-- And no statement can take this one that does not speak of deadlines: a lease, say, for which it is of no use.
DROP INDEX appstore.outbox_oldest;
CREATE INDEX outbox_deadlines ON appstore.outbox (deadline_at, call_id) WHERE state = 'open' AND deadline_at IS NOT NULL;

-- What settles a call finds it by its id alone, as appstore.delete_bodies does. Where the planner knows of no open call, as on most days,
-- an index of open calls seems cheaper than the primary key: with the plan of such a day each settlement reads all calls that are open.

-- After an attempt that had no answer: the next one, and meanwhile the fallback. False, and nothing else, for who is late. As before, but
-- found by its id.
CREATE OR REPLACE FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.outbox AS c
    SET is_leased = false, run_at = clock_timestamp() + postpone_call.delay, attempts = c.attempts + 1,
        repeats = CASE WHEN c.last_reason = postpone_call.reason THEN c.repeats + 1 ELSE 1 END, last_reason = postpone_call.reason
    WHERE c.call_id = postpone_call.call_id AND c.epoch = postpone_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM appstore.fall_back(ARRAY[postpone_call.call_id]);
    RETURN true;
END
$$;

-- After the last attempt: refused or given up; with the fallback, unless what was asked about was denied. False for who is late. As before,
-- but found by its id.
CREATE OR REPLACE FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF state IS NULL OR state NOT IN ('refused', 'given_up') THEN
        RAISE EXCEPTION 'state % is no end of a call without an answer', quote_nullable(state) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = end_call.state, reason = end_call.reason, settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1
    WHERE c.call_id = end_call.call_id AND c.epoch = end_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF falls_back THEN
        PERFORM appstore.fall_back(ARRAY[end_call.call_id]);
    END IF;
    RETURN true;
END
$$;

-- Takes an answer into the inbox and settles its call, at once; null, and nothing else, for who is late. An answer has the kind of its call
-- for a source; what is in it is the worker's word, for nobody else has heard it. As before, but found by its id.
CREATE OR REPLACE FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_kind  text;
    v_event bigint;
BEGIN
    IF source IS DISTINCT FROM 'verify_receipt' THEN
        RAISE EXCEPTION 'source % is no answer to a call', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT c.kind INTO v_kind FROM appstore.outbox AS c
    WHERE c.call_id = answer_call.call_id AND c.epoch = answer_call.epoch AND (c.state = 'open') IS TRUE AND c.is_leased FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    ELSIF v_kind <> source THEN
        RAISE EXCEPTION 'a call of kind % has no answer of source %', v_kind, source USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES (answer_call.source, clock_timestamp(), answer_call.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id INTO v_event;
    UPDATE appstore.outbox AS c
    SET state = 'answered', settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1, last_reason = NULL, repeats = 0,
        answer_event_id = v_event
    WHERE c.call_id = answer_call.call_id;
    RETURN v_event;
END
$$;

-- Has the fallback of calls speak. As before, but where the body is gone that it was to be made of, there is none: such a call was taken again
-- with each look, and five hundred of them would have kept all others from being looked at.
CREATE OR REPLACE FUNCTION appstore.fall_back(calls bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_call  record;
    v_event bigint;
BEGIN
    FOR v_call IN
        SELECT c.call_id, c.fallback_source, c.event_id FROM appstore.outbox AS c
        WHERE c.call_id = ANY (fall_back.calls) AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
        ORDER BY c.call_id FOR UPDATE
    LOOP
        WITH stored AS (
            INSERT INTO appstore.inbox (source, received_at, body)
            SELECT v_call.fallback_source, clock_timestamp(),
                   convert_to(json_build_object('receiptData', convert_from(i.body, 'UTF8')::json ->> 'receiptData')::text, 'UTF8')
            FROM appstore.inbox AS i WHERE i.event_id = v_call.event_id
            RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
        )
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
        RETURNING inbox_ready.event_id INTO v_event;
        UPDATE appstore.outbox AS c
        SET fallback_event_id = v_event, fallback_source = CASE WHEN v_event IS NOT NULL THEN c.fallback_source END
        WHERE c.call_id = v_call.call_id;
    END LOOP;
END
$$;

-- Lets the fallback speak for calls that have had no attempt for a minute: whoever could make them is busy or away, and customers wait.
-- Gives up the calls that nobody has taken for an hour after their deadline, for who takes one then makes a last attempt and gives it up
-- himself; deletes settled calls a month after. At most 500 of each at once; returns how many.
--
-- As before, but those to be deleted are found in the index: beyond a clock that runs on within the statement every settled call was looked at.
-- And those to be given up are walked by their deadlines. Few that are past theirs were taken within the hour: none is postponed
-- beyond it. Only an index in the order of each walk will do, whatever the planner thinks of the sizes; and were one of the walks to read
-- all that are open and run out of time, nothing would come of the others.
CREATE OR REPLACE FUNCTION appstore.age_calls() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET jit = off AS $$
DECLARE
    v_awaited  bigint[];
    v_given_up bigint;
    v_deleted  bigint;
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN 0;
    END IF;
    v_awaited := ARRAY(SELECT c.call_id FROM appstore.outbox AS c
                       WHERE c.state = 'open' AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
                         AND c.asked_at < statement_timestamp() - interval '1 minute'
                       ORDER BY c.asked_at, c.call_id LIMIT 500 FOR UPDATE SKIP LOCKED);
    PERFORM appstore.fall_back(v_awaited);
    UPDATE appstore.outbox AS c
    SET state = 'given_up', reason = 'no_worker', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state = 'open' AND old.deadline_at < statement_timestamp() - interval '1 hour'
                                   AND old.run_at < statement_timestamp() - interval '1 hour'
                                 ORDER BY old.deadline_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_given_up = ROW_COUNT;
    DELETE FROM appstore.outbox AS c
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state <> 'open' AND old.settled_at < statement_timestamp() - interval '30 days'
                                 ORDER BY old.settled_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    RETURN cardinality(v_awaited) + v_given_up + v_deleted;
END
$$;

-- The open calls in numbers, cheap however many there are: how many, up to 10,000, which means as many or more; and since when the oldest
-- of these has been asked for, null when there is none. They are those whose deadlines come first, and so, as long as all calls are given
-- the same time, those that were asked for first.
CREATE FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval)
-- Only an index scan bounds what is read, whatever the planner thinks of the sizes.
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    SELECT count(*), statement_timestamp() - min(first.asked_at)
    FROM (SELECT c.asked_at FROM appstore.outbox AS c WHERE c.state = 'open' AND c.deadline_at IS NOT NULL
          ORDER BY c.deadline_at, c.call_id LIMIT 10000) AS first
$$;

-- Every event and what became of it. A UNION ALL, so that it stays fast with ten million settled events.
--
-- As before, but the body's row is looked up for each waiting event that is shown. A join can be read in no index's order: the newest fifty
-- events were found by joining, and sorting, all that wait.
CREATE OR REPLACE VIEW appstore.inbox_status AS
SELECT r.event_id,
       (SELECT i.source FROM appstore.inbox AS i WHERE i.event_id = r.event_id) AS source,
       (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = r.event_id) AS received_at,
       CASE WHEN r.attempts = 0 THEN 'ready' ELSE 'waiting' END AS state,
       NULL::text AS outcome, NULL::text AS reason, NULL::text AS notification_type, NULL::text AS subtype, NULL::text AS notification_uuid,
       NULL::text AS environment, NULL::text AS transaction_id, NULL::text AS original_transaction_id,
       r.attempts::integer AS attempts, r.run_at AS next_run_at, r.last_error, NULL::timestamptz AS settled_at
FROM appstore.inbox_ready AS r
UNION ALL
SELECT o.event_id, o.source, o.received_at, 'settled', o.result, o.reason, o.notification_type, o.subtype, o.notification_uuid,
       o.environment, o.transaction_id, o.original_transaction_id, o.attempts, NULL, o.last_error, o.settled_at
FROM appstore.outcomes AS o;

-- How many events a repair would take now, or how many of these; see find_repair. Without a limit it looks at every outcome.
--
-- As before, but for a body only where the conditions fit: a planner that expects many of those read the inbox from end to end.
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
            WHERE appstore.fits(o, v_filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0));
END
$$;

-- Puts settled events back into the queue, their outcomes into the history: those whose outcome is older than `settled_before` and whose
-- body is still there. They become due one after the other within `spread`. Not for callers: see requeue.
--
-- As before, but in the order in which they were received, also where they become due at once: it was that of a join.
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
        ORDER BY n.event_id
        RETURNING inbox_ready.event_id
    )
    SELECT coalesce(array_agg(back.event_id ORDER BY back.event_id), '{}') INTO v_moved FROM back;
    RETURN v_moved;
END
$$;

REVOKE EXECUTE ON FUNCTION appstore.outbox_statistics() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.outbox_statistics() TO appstore_worker;
