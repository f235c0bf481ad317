-- A step of the sequencer. It tells what was committed between two snapshots: no open transaction delays the others, and positions appear in
-- the order of commit, by steps. A tell is deleted by the transaction that numbers it, so that none is told twice.
CREATE OR REPLACE FUNCTION appstore.sequence_feed(max_tells integer DEFAULT 2000, OUT is_on boolean, OUT told bigint, OUT has_more boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET jit = off SET "TimeZone" = 'UTC' AS $$ -- nested loops only, as in derive_ledger
DECLARE
    v_head         appstore.feed_head;
    v_cluster      text := appstore.feed_cluster();
    v_current      pg_snapshot; -- what the step tells
    v_now          timestamptz := clock_timestamp();
    v_kinds        text[];
    v_environments appstore.environment[];
    v_refs         text[];
    v_told_at      timestamptz[];
    v_is_full      boolean;
    v_turned       appstore.contract_key[];
    v_entries      appstore.feed[];
BEGIN
    is_on := (SELECT s.is_on FROM appstore.feed_switch AS s);
    told := 0;
    has_more := false;
    IF NOT is_on THEN
        RETURN;
    END IF;
    PERFORM appstore.demand_read_committed();
    -- 1. Look without a lock, which would be written to disk, whether there is anything to do.
    SELECT h.* INTO v_head FROM appstore.feed_head AS h;
    IF v_head.cluster = v_cluster AND v_head.told_snapshot IS NOT NULL AND v_head.target_snapshot IS NULL
       AND NOT appstore.has_tells(v_head.told_snapshot)
       AND NOT EXISTS (SELECT FROM appstore.told_access AS a WHERE a.turns_at > v_head.turned_to AND a.turns_at <= v_now) THEN
        RETURN;
    END IF;
    -- 2. The row lock of the head: each later statement sees the step before it. The snapshot is one of its own.
    SELECT h.* INTO v_head FROM appstore.feed_head AS h FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true); -- a position that was read must not be given again
    END IF;
    v_now := clock_timestamp();
    IF v_head.cluster <> v_cluster THEN
        v_head.cluster := v_cluster;
        v_head.generation := appstore.next_generation(v_head.generation);
        v_head.told_snapshot := NULL; -- of another cluster
        v_head.target_snapshot := NULL;
        v_head.turned_to := '-infinity';
        INSERT INTO appstore.feed_generations (generation, from_position, began_at, is_complete)
        VALUES (v_head.generation, v_head.position + 1, v_now, true);
        -- What workers know of positions may be of the other cluster: they read it again with a new lease.
        UPDATE appstore.endpoints AS e SET epoch = e.epoch + 1, leased_until = NULL, position = least(e.position, v_head.position);
    END IF;
    v_current := coalesce(v_head.target_snapshot, pg_current_snapshot());
    -- 3. Take the tells, and the contracts whose access the clock has changed.
    SELECT t.kinds, t.environments, t.refs, t.told_at, t.is_full INTO v_kinds, v_environments, v_refs, v_told_at, v_is_full
    FROM appstore.take_tells(v_head.told_snapshot, v_current, v_head.target_snapshot IS NOT NULL, max_tells) AS t;
    v_turned := ARRAY(
        SELECT ROW(a.environment, a.original_transaction_id)::appstore.contract_key
        FROM appstore.told_access AS a WHERE a.turns_at > v_head.turned_to AND a.turns_at <= v_now ORDER BY a.turns_at LIMIT max_tells);
    -- 4. Render them, once.
    v_entries := ARRAY(
        SELECT rendered.entry
        FROM (
            SELECT * FROM appstore.effect_entries(v_kinds, v_refs, v_now)
            UNION ALL
            SELECT * FROM appstore.order_entries(v_kinds, v_environments, v_refs, v_now, v_head.enabled_at)
            UNION ALL
            SELECT * FROM appstore.access_entries(v_kinds, v_environments, v_refs, v_turned, v_now, v_head.enabled_at)
            UNION ALL
            SELECT * FROM appstore.failure_entries(v_kinds, v_refs, v_now)
            UNION ALL
            SELECT * FROM appstore.notification_entries(v_kinds, v_refs, v_now)
            UNION ALL
            SELECT * FROM appstore.endpoint_entries(v_kinds, v_refs, v_told_at, v_now)
            UNION ALL
            SELECT tell.place, ROW(NULL, appstore.feed_id(jsonb_build_array('forgotten', tell.told_at, tell.ref)), 'user.forgotten', NULL, NULL, NULL,
                                   tell.ref, NULL, v_now, v_now, '{}'::jsonb)::appstore.feed
            FROM unnest(v_kinds, v_refs, v_told_at) WITH ORDINALITY AS tell (kind, ref, told_at, place) WHERE tell.kind = 'forgotten'
        ) AS rendered (place, entry)
        ORDER BY rendered.place, (rendered.entry).occurred_at, (rendered.entry).id);
    told := cardinality(v_entries);
    -- 5. Number them.
    IF v_head.position + told >= v_head.partition_to THEN
        v_head := appstore.make_feed_partitions(v_head, v_head.position + told, v_now);
    END IF;
    INSERT INTO appstore.feed (position, id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data)
    SELECT v_head.position + e.place, e.id, e.type, e.environment, e.bundle_id, e.subject, e.user_id, e.from_user_id, e.occurred_at, e.told_at,
           e.data
    FROM unnest(v_entries) WITH ORDINALITY
        AS e (position, id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data, place);
    UPDATE appstore.feed_head AS h
    SET position = v_head.position + sequence_feed.told, generation = v_head.generation, cluster = v_head.cluster,
        told_snapshot = CASE WHEN v_is_full THEN v_head.told_snapshot ELSE v_current END,
        target_snapshot = CASE WHEN v_is_full THEN v_current END,
        turned_to = CASE WHEN cardinality(v_turned) < max_tells THEN v_now ELSE v_head.turned_to END,
        partition_from = v_head.partition_from, partition_to = v_head.partition_to, partition_since = v_head.partition_since;
    -- After the target of an earlier step, what was committed since is next.
    has_more := v_is_full OR v_head.target_snapshot IS NOT NULL OR cardinality(v_turned) = max_tells;
END
$$;
COMMENT ON FUNCTION appstore.sequence_feed IS
    'Numbers what was committed since the last step, at most max_tells. Returns whether the feed is on, how many rows were told, and whether there '
    'is more. It tells nothing while another session takes a step. Any number of sessions may call it.';

CREATE OR REPLACE FUNCTION appstore.has_tells(p_told pg_snapshot) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_from xid8 := pg_snapshot_xmax(p_told);
    v_open xid8[] := ARRAY(SELECT pg_snapshot_xip(p_told));
BEGIN
    RETURN EXISTS (SELECT FROM appstore.tells AS t WHERE t.xid >= v_from) OR EXISTS (SELECT FROM appstore.tells AS t WHERE t.xid = ANY (v_open));
END
$$;
COMMENT ON FUNCTION appstore.has_tells IS 'Whether tells are committed that this snapshot does not see.';

CREATE OR REPLACE FUNCTION appstore.take_tells(
    p_told pg_snapshot, p_current pg_snapshot, p_is_rest boolean, p_limit integer, OUT kinds text[], OUT environments appstore.environment[], OUT refs text[],
    OUT told_at timestamptz[], OUT is_full boolean)
LANGUAGE plpgsql AS $$
DECLARE
    v_from xid8 := pg_snapshot_xmax(p_told);
    v_to   xid8 := pg_snapshot_xmax(p_current);
    v_open xid8[] := ARRAY(SELECT pg_snapshot_xip(p_told));
BEGIN
    IF p_told IS NULL THEN -- xids of another cluster say nothing: every tell that is committed and not deleted is to be told
        WITH next AS MATERIALIZED (
            SELECT t.tell_id FROM appstore.tells AS t ORDER BY t.tell_id LIMIT p_limit
        ), taken AS (
            DELETE FROM appstore.tells AS t WHERE t.tell_id = ANY (ARRAY(SELECT next.tell_id FROM next)) RETURNING t.*
        )
        SELECT array_agg(taken.kind ORDER BY taken.tell_id), array_agg(taken.environment ORDER BY taken.tell_id),
               array_agg(taken.ref ORDER BY taken.tell_id), array_agg(taken.told_at ORDER BY taken.tell_id),
               (SELECT count(*) = p_limit FROM next)
        INTO kinds, environments, refs, told_at, is_full FROM taken;
    ELSE
        WITH next AS MATERIALIZED (
            SELECT t.ctid AS row_id, t.tell_id FROM appstore.tells AS t
            WHERE NOT p_is_rest AND t.xid >= v_from AND t.xid < v_to AND pg_visible_in_snapshot(t.xid, p_current)
            UNION ALL -- those that were open at the latest step
            SELECT t.ctid, t.tell_id FROM appstore.tells AS t
            WHERE NOT p_is_rest AND t.xid = ANY (v_open) AND pg_visible_in_snapshot(t.xid, p_current)
            UNION ALL -- the same, in their order: a step that sorts all that is left would take long beside a million
            (SELECT t.ctid, t.tell_id FROM appstore.tells AS t
             WHERE p_is_rest AND pg_visible_in_snapshot(t.xid, p_current) AND NOT pg_visible_in_snapshot(t.xid, p_told)
             ORDER BY t.tell_id LIMIT p_limit)
            ORDER BY tell_id LIMIT p_limit
        ), taken AS (
            DELETE FROM appstore.tells AS t WHERE t.ctid = ANY (ARRAY(SELECT next.row_id FROM next)) RETURNING t.*
        )
        SELECT array_agg(taken.kind ORDER BY taken.tell_id), array_agg(taken.environment ORDER BY taken.tell_id),
               array_agg(taken.ref ORDER BY taken.tell_id), array_agg(taken.told_at ORDER BY taken.tell_id),
               (SELECT count(*) = p_limit FROM next)
        INTO kinds, environments, refs, told_at, is_full FROM taken;
    END IF;
    kinds := coalesce(kinds, '{}');
    environments := coalesce(environments, '{}');
    refs := coalesce(refs, '{}');
    told_at := coalesce(told_at, '{}');
END
$$;
COMMENT ON FUNCTION appstore.take_tells IS
    'Deletes and returns, in their order, the first tells that p_current sees and p_told does not; all where p_told is null. p_is_rest where an '
    'earlier step has taken some of them. is_full: whether p_limit were found, so that there may be more, also where another session deletes '
    'some of them meanwhile.';

CREATE OR REPLACE FUNCTION appstore.make_feed_partitions(p_head appstore.feed_head, p_last bigint, p_now timestamptz) RETURNS appstore.feed_head
LANGUAGE plpgsql AS $$
DECLARE
    v_size bigint := p_head.partition_to - p_head.partition_from;
    v_age  interval := appstore.feed_partition_age();
    v_name text;
BEGIN
    -- A partition is to last between one such age and four.
    v_size := CASE WHEN v_size = 0 THEN 10000
                   WHEN p_head.partition_since > p_now - v_age THEN least(v_size * 2, 100000000)
                   WHEN p_head.partition_since < p_now - 4 * v_age THEN greatest(v_size / 2, 1000)
                   ELSE v_size END;
    WHILE p_head.partition_to <= p_last LOOP
        p_head.partition_from := p_head.partition_to;
        p_head.partition_to := p_head.partition_from + v_size;
        p_head.partition_since := p_now;
        v_name := 'feed_from_' || p_head.partition_from;
        EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.feed INCLUDING CONSTRAINTS INCLUDING INDEXES) '
                       'WITH (autovacuum_vacuum_scale_factor = 0.02)', v_name);
        EXECUTE format('ALTER TABLE appstore.feed ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', v_name, p_head.partition_from,
                       p_head.partition_to);
    END LOOP;
    RETURN p_head;
END
$$;
COMMENT ON FUNCTION appstore.make_feed_partitions IS
    'Makes the partitions for the positions up to p_last, and returns the head with the newest one. Larger ones where they fill in less than '
    'appstore.feed_partition_age.';

CREATE OR REPLACE FUNCTION appstore.feed_partition_age() RETURNS interval
LANGUAGE sql STABLE AS $$ SELECT greatest(r.feed / 25, interval '1 day') FROM appstore.retention AS r $$;
COMMENT ON FUNCTION appstore.feed_partition_age IS
    'How long a partition of the feed is to last at least: a twenty-fifth of the age of the feed, so that there are some 25, twice as many '
    'where a consumer is behind.';
