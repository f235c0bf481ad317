CREATE OR REPLACE FUNCTION appstore.drop_aged_partition() RETURNS TABLE (did text, partition text, events bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_checked  CONSTANT integer := 50000; -- the most events that a step checks
    c_kept     CONSTANT integer := 100;   -- the most events that move to the default partition
    c_repaired CONSTANT integer := 10000; -- the most repairs since the check began that are read under the lock
    c_overlap  CONSTANT interval := '1 hour';
    v_now      timestamptz := clock_timestamp();
    v_ages     appstore.retention;
    v_part     record;
    v_state    appstore.maintenance_state;
    v_checked  bigint;
    v_lowest   bigint;
    v_kept     bigint[];
    v_did      text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'drop_aged_partition works in READ COMMITTED only' USING ERRCODE = 'invalid_transaction_state', HINT =
            'It must see what others committed before it got their lock.';
    ELSIF NOT appstore.maintenance_lock() THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT * FROM appstore.drop_detached_partition();
    IF FOUND THEN
        RETURN;
    END IF;

    -- 1. Find the first partition that gets no new events and whose age is limited. Outcomes are dropped when all bodies of their events are
    --    gone: then no event waits or can be requeued.
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    SELECT p.parent, p.partition, p.from_id, p.to_id, v_now - CASE p.parent WHEN 'inbox' THEN v_ages.bodies ELSE v_ages.outcomes END AS cutoff
    INTO v_part
    FROM appstore.inbox_partitions AS p LEFT JOIN appstore.maintenance_state AS s ON s.task = p.partition
    WHERE p.is_past AND coalesce(s.not_before, '-infinity') <= v_now
      AND CASE p.parent WHEN 'inbox' THEN v_ages.bodies IS NOT NULL
                        ELSE v_ages.outcomes IS NOT NULL
                             AND NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id >= p.from_id AND i.event_id < p.to_id) END
    ORDER BY p.parent, p.from_id LIMIT 1;
    IF v_part.partition IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.maintenance_state AS s (task, started_at, event_id) VALUES (v_part.partition, v_now, v_part.to_id)
    ON CONFLICT (task) DO UPDATE
    SET started_at = excluded.started_at, event_id = excluded.event_id, kept = '{}', not_before = '-infinity' WHERE s.not_before > '-infinity';
    SELECT s.* INTO v_state FROM appstore.maintenance_state AS s WHERE s.task = v_part.partition;

    -- 2. Check the next events in descending order: the youngest events, which keep the partition, are found first.
    EXECUTE format(
        'SELECT count(*), min(c.event_id), coalesce(array_agg(c.event_id) FILTER (WHERE NOT c.has_aged), ''{}'') '
        'FROM (SELECT p.event_id, %s AS has_aged FROM appstore.%I AS p WHERE p.event_id < $2 ORDER BY p.event_id DESC LIMIT $3) AS c',
        CASE v_part.parent WHEN 'outcomes' THEN 'p.settled_at < $1'
             ELSE 'EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = p.event_id AND o.settled_at < $1 OFFSET 0)' END,
        v_part.partition)
    INTO v_checked, v_lowest, v_kept USING v_part.cutoff, v_state.event_id, c_checked;
    v_kept := v_state.kept || v_kept;
    v_did := CASE
        WHEN cardinality(v_kept) > c_kept
             OR EXISTS (SELECT FROM appstore.outcome_history AS h WHERE h.replaced_at >= v_state.started_at - c_overlap
                        ORDER BY h.replaced_at OFFSET c_repaired - 1 LIMIT 1) THEN 'postponed'
        WHEN v_checked = c_checked THEN 'checked'
        ELSE 'detached' END;

    -- 3. Under an exclusive lock, add the events that were repaired since the check began. A requeue reads the inbox. Earlier requeues have
    --    committed when the lock is granted: their events are in the queue or, if they have run again, in the history. Later ones wait, and
    --    find no body. A discard also writes the history, where it is found unless its transaction took longer than c_overlap.
    IF v_did = 'detached' THEN
        EXECUTE format('LOCK TABLE ONLY appstore.%I IN ACCESS EXCLUSIVE MODE', v_part.parent);
        v_kept := ARRAY(
            SELECT unnest(v_kept)
            UNION SELECT q.event_id FROM appstore.inbox_queue AS q WHERE q.event_id >= v_part.from_id AND q.event_id < v_part.to_id
            UNION SELECT h.event_id FROM appstore.outcome_history AS h
            WHERE h.replaced_at >= v_state.started_at - c_overlap AND h.event_id >= v_part.from_id AND h.event_id < v_part.to_id);
        v_did := CASE WHEN cardinality(v_kept) > c_kept THEN 'postponed' ELSE 'detached' END;
    END IF;
    RETURN QUERY SELECT v_did, v_part.partition, cardinality(v_kept)::bigint;
    IF v_did = 'checked' THEN
        UPDATE appstore.maintenance_state AS s SET event_id = v_lowest, kept = v_kept WHERE s.task = v_part.partition;
        RETURN;
    ELSIF v_did = 'postponed' THEN
        UPDATE appstore.maintenance_state AS s SET not_before = v_now + interval '1 hour', kept = '{}' WHERE s.task = v_part.partition;
        RETURN;
    END IF;

    -- 4. Detach it.
    DELETE FROM appstore.maintenance_state AS s WHERE s.task = v_part.partition;
    EXECUTE format('ALTER TABLE appstore.%I DETACH PARTITION appstore.%I', v_part.parent, v_part.partition);
    EXECUTE format('INSERT INTO appstore.%I SELECT p.* FROM appstore.%I AS p WHERE p.event_id = ANY ($1)', v_part.parent, v_part.partition)
    USING v_kept;
    EXECUTE format('ALTER TABLE appstore.%I RENAME TO %I', v_part.partition, 'aged_' || v_part.partition);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, 'retention', 'drop_partition', '{}',
            jsonb_build_object('partition', v_part.partition, 'from', v_part.from_id, 'to', v_part.to_id, 'kept', cardinality(v_kept)));
END
$$;
COMMENT ON FUNCTION appstore.drop_aged_partition IS
    'Takes the next step to drop a partition of the inbox, or of the outcomes, whose events have aged: checks a part of it; when the whole of it '
    'has at most 100 events to keep, moves these to the default partition and detaches it; the next call drops it. Returns checked, postponed, '
    'detached, expired or dropped, with the number of events, or no row. Detaching locks the table exclusively for milliseconds; where the lock is '
    'not free within lock_timeout, the call fails (55P03) without any change.';

CREATE OR REPLACE FUNCTION appstore.drop_detached_partition() RETURNS TABLE (did text, partition text, events bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_name  text := (SELECT c.relname FROM pg_class AS c
                     WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'aged\_%' ORDER BY c.relname LIMIT 1);
    v_first bigint;
    v_last  bigint;
    v_ids   bigint[];
BEGIN
    IF v_name IS NULL THEN
        RETURN;
    ELSIF v_name LIKE 'aged\_outcomes\_%' THEN
        -- Delete the rows that belong to the outcomes first, step by step. Outcomes that must be kept are in the default partition.
        EXECUTE format('SELECT min(p.event_id), max(p.event_id) FROM appstore.%I AS p', v_name) INTO v_first, v_last;
        v_ids := ARRAY(
            SELECT a.event_id
            FROM (SELECT h.event_id FROM appstore.outcome_history AS h WHERE h.event_id BETWEEN v_first AND v_last
                  UNION ALL
                  SELECT e.event_id FROM appstore.event_contracts AS e WHERE e.event_id BETWEEN v_first AND v_last) AS a
            WHERE NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = a.event_id OFFSET 0)
            LIMIT 5000);
        IF v_ids <> '{}' THEN
            DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
            DELETE FROM appstore.event_contracts AS e WHERE e.event_id = ANY (v_ids);
            RETURN QUERY SELECT 'expired', substr(v_name, 6), cardinality(v_ids)::bigint;
            RETURN;
        END IF;
    END IF;
    EXECUTE format('DROP TABLE appstore.%I', v_name);
    RETURN QUERY SELECT 'dropped', substr(v_name, 6), 0::bigint;
END
$$;
COMMENT ON FUNCTION appstore.drop_detached_partition IS
    'Drops a partition that was detached; of outcomes first their history and contracts, at most 5,000 in a step. Returns what it did, or no row.';
