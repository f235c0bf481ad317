CREATE OR REPLACE FUNCTION appstore.expire(walk text) RETURNS TABLE (checked bigint, deleted bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_batch     CONSTANT integer := 500;
    v_rejected  boolean := expire.walk LIKE 'rejected\_%';
    v_imported  boolean := expire.walk = 'imported_bodies';
    v_of_bodies boolean := expire.walk LIKE '%\_bodies';
    v_cutoff    timestamptz;
    v_state     appstore.maintenance_state;
    v_checked   bigint;
    v_is_over   boolean := false;
    v_ids       bigint[];
BEGIN
    IF walk IS NULL OR walk NOT IN ('rejected_bodies', 'rejected_outcomes', 'default_bodies', 'default_outcomes', 'imported_bodies') THEN
        RAISE EXCEPTION 'there is no walk %', quote_nullable(walk) USING ERRCODE = 'invalid_parameter_value', HINT =
            'Walks are rejected_bodies, rejected_outcomes, default_bodies, default_outcomes and imported_bodies.';
    ELSIF NOT appstore.maintenance_lock() THEN
        RETURN;
    END IF;
    SELECT clock_timestamp() - CASE expire.walk WHEN 'rejected_bodies' THEN r.rejected_bodies WHEN 'rejected_outcomes' THEN r.rejected_outcomes
                                                WHEN 'default_bodies' THEN r.bodies WHEN 'imported_bodies' THEN r.import_bodies
                                                ELSE r.outcomes END
    INTO v_cutoff FROM appstore.retention AS r;
    IF v_cutoff IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.maintenance_state (task) VALUES (expire.walk) ON CONFLICT (task) DO NOTHING;
    SELECT s.* INTO v_state FROM appstore.maintenance_state AS s WHERE s.task = expire.walk;

    -- 1. The next rows. Rejected and imported ones in the order of their outcomes: a requeued event gets a new outcome, so the walk never goes
    --    back. The walks over default partitions start over when they reach recent events.
    IF v_imported THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), coalesce(max(next.settled_at), v_state.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_state.event_id)
        INTO v_checked, v_ids, v_state.settled_at, v_state.event_id
        FROM (SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
              WHERE o.source IN ('imported_status', 'imported_transaction') AND o.settled_at < v_cutoff
                AND o.settled_at >= v_state.settled_at AND (o.settled_at, o.event_id) > (v_state.settled_at, v_state.event_id)
              ORDER BY o.settled_at, o.event_id LIMIT c_batch) AS next;
    ELSIF v_rejected THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), coalesce(max(next.settled_at), v_state.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_state.event_id)
        INTO v_checked, v_ids, v_state.settled_at, v_state.event_id
        FROM (SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
              WHERE o.result = 'rejected' AND o.settled_at < v_cutoff
                AND o.settled_at >= v_state.settled_at AND (o.settled_at, o.event_id) > (v_state.settled_at, v_state.event_id)
              ORDER BY o.settled_at, o.event_id LIMIT c_batch) AS next;
    ELSE
        EXECUTE format('SELECT count(*), coalesce(array_agg(next.event_id), ''{}''), coalesce(bool_and(next.received_at >= $1), true), '
                       'max(next.event_id) FROM (SELECT d.event_id, d.received_at FROM appstore.%I AS d WHERE d.event_id > $2 '
                       'ORDER BY d.event_id LIMIT $3) AS next', CASE WHEN v_of_bodies THEN 'inbox_default' ELSE 'outcomes_default' END)
        INTO v_checked, v_ids, v_is_over, v_state.event_id USING v_cutoff, v_state.event_id, c_batch;
        IF v_is_over THEN
            v_checked := 0;
            v_state.event_id := 0;
        END IF;
    END IF;

    -- 2. Those of them that have aged. An outcome that is locked here cannot be requeued before the commit.
    v_ids := ARRAY(
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (v_ids) AND o.settled_at < v_cutoff
          AND CASE WHEN v_rejected -- and unverified: anyone could have posted it
                   THEN o.result = 'rejected' AND o.notification_type IS NULL AND o.notification_uuid IS NULL AND o.environment IS NULL
                        AND o.bundle_id IS NULL AND o.transaction_id IS NULL AND o.original_transaction_id IS NULL AND o.odd_members IS NULL
                   WHEN v_imported -- and of no use: the others can be requeued, and Apple is not asked again where it was read to the end
                   THEN o.result NOT IN ('failed', 'rejected', 'unhandled')
                   ELSE v_of_bodies OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0) END
        ORDER BY o.event_id FOR UPDATE);
    IF v_rejected OR v_of_bodies THEN
        DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_ids);
    END IF;
    IF NOT v_of_bodies THEN
        DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
        DELETE FROM appstore.event_contracts AS e WHERE e.event_id = ANY (v_ids);
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);
    END IF;
    UPDATE appstore.maintenance_state AS s SET settled_at = v_state.settled_at, event_id = v_state.event_id WHERE s.task = expire.walk;
    RETURN QUERY SELECT v_checked, cardinality(v_ids)::bigint;
END
$$;
COMMENT ON FUNCTION appstore.expire IS
    'Deletes the next aged rows of a walk: rejected_bodies and rejected_outcomes of events in which nothing could be verified; default_bodies and '
    'default_outcomes of the default partitions, which are never dropped; imported_bodies of imports. Checks at most 500, returns how many it '
    'checked and deleted; no row when nothing of the kind ages.';

-- Walks the table by blocks, 128 in each call: an index by age would cost every new notification an entry, and a BRIN index would lose its
-- bounds once new rows fill the space of deleted ones.
CREATE OR REPLACE FUNCTION appstore.expire_notifications() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    c_blocks  CONSTANT bigint := 128;
    v_blocks  bigint := pg_relation_size('appstore.seen_notifications') / current_setting('block_size')::bigint;
    v_first   bigint;
    v_deleted bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    SELECT s.event_id INTO v_first FROM appstore.maintenance_state AS s WHERE s.task = 'notifications' AND s.event_id < v_blocks;
    v_first := coalesce(v_first, 0);
    DELETE FROM appstore.seen_notifications AS n
    WHERE n.ctid >= format('(%s,0)', v_first)::tid AND n.ctid < format('(%s,0)', v_first + c_blocks)::tid
      AND n.seen_on < (SELECT (now() AT TIME ZONE 'UTC' - r.notifications)::date FROM appstore.retention AS r);
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    INSERT INTO appstore.maintenance_state (task, event_id) VALUES ('notifications', v_first + c_blocks)
    ON CONFLICT (task) DO UPDATE SET event_id = excluded.event_id;
    RETURN v_deleted;
END
$$;
COMMENT ON FUNCTION appstore.expire_notifications IS
    'Deletes the aged rows in the next 128 blocks of seen_notifications, and starts over after the last block. Returns how many.';

-- An index in its order bounds each of the three walks, under any statistics.
CREATE OR REPLACE FUNCTION appstore.expire_calls() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET jit = off AS $$
DECLARE
    v_awaited  bigint[];
    v_given_up bigint;
    v_deleted  bigint;
BEGIN
    IF NOT appstore.maintenance_lock('expire_calls') THEN
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
COMMENT ON FUNCTION appstore.expire_calls IS
    'Uses the fallback of calls that had no attempt for a minute, gives up calls that no worker took for an hour after their deadline, and '
    'deletes calls that were settled 30 days ago: at most 500 of each. Returns how many.';
