CREATE OR REPLACE FUNCTION appstore.storage_statistics(
    OUT database_bytes bigint, OUT inbox_bytes bigint, OUT outcome_bytes bigint, OUT ledger_bytes bigint, OUT rest_bytes bigint,
    OUT parents text[], OUT partitions bigint[], OUT tables text[], OUT live_rows bigint[], OUT dead_rows bigint[], OUT slots text[],
    OUT slot_bytes bigint[], OUT database_age bigint, OUT oldest_table text, OUT table_age bigint, OUT freeze_max_age bigint,
    OUT locks_held bigint, OUT lock_slots bigint, OUT checkpoints_timed bigint, OUT checkpoints_requested bigint)
-- It asks the catalogue, the file system and PostgreSQL's statistics. It reads no rows but the first ones of the last partitions.
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- The settings of the worker's role would read whole catalogues by their indexes.
SET enable_seqscan = on SET jit = off AS $$
#variable_conflict use_column
BEGIN
    -- 1. What lies on the disk. Indexes and TOAST tables count for their table, partitions for their parent.
    WITH sizes AS MATERIALIZED (
        SELECT h.inhparent AS parent, pg_total_relation_size(c.oid)::bigint AS bytes
        FROM pg_class AS c
        LEFT JOIN pg_inherits AS h ON h.inhrelid = c.oid
        WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind IN ('r', 'm')
    )
    SELECT pg_database_size(current_database()),
           coalesce(sum(s.bytes) FILTER (WHERE s.parent = 'appstore.inbox'::regclass), 0),
           coalesce(sum(s.bytes) FILTER (WHERE s.parent = 'appstore.outcomes'::regclass), 0),
           coalesce(sum(s.bytes) FILTER (WHERE s.parent IS DISTINCT FROM 'appstore.inbox'::regclass
                                           AND s.parent IS DISTINCT FROM 'appstore.outcomes'::regclass), 0)
    INTO database_bytes, inbox_bytes, outcome_bytes, ledger_bytes
    FROM sizes AS s;
    -- An empty partition has some pages, too.
    rest_bytes :=
        CASE WHEN EXISTS (SELECT FROM appstore.inbox_rest AS i) THEN pg_total_relation_size('appstore.inbox_rest') ELSE 0 END
        + CASE WHEN EXISTS (SELECT FROM appstore.outcomes_rest AS o) THEN pg_total_relation_size('appstore.outcomes_rest') ELSE 0 END;

    -- 2. Partitions, and what vacuum has left to do in the tables that are updated or deleted from without end.
    SELECT coalesce(array_agg(p.parent ORDER BY p.parent), '{}'), coalesce(array_agg(p.partitions ORDER BY p.parent), '{}')
    INTO parents, partitions
    FROM (SELECT c.relname::text AS parent, (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = c.oid) AS partitions
          FROM pg_class AS c WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'p') AS p;
    SELECT array_agg(t.name ORDER BY t.position), array_agg(pg_stat_get_live_tuples(t.id) ORDER BY t.position),
           array_agg(pg_stat_get_dead_tuples(t.id) ORDER BY t.position)
    INTO tables, live_rows, dead_rows
    FROM (SELECT w.name, w.position, ('appstore.' || w.name)::regclass AS id
          FROM unnest(ARRAY['inbox_queue', 'batch_markers', 'transactions', 'contracts', 'orders', 'seen_notifications', 'outbox', 'tells',
                            'open_deliveries']) WITH ORDINALITY AS w (name, position)) AS t;

    -- 3. The log that replication slots keep. One without a position keeps none.
    SELECT coalesce(array_agg(s.slot_name::text ORDER BY s.slot_name), '{}'),
           coalesce(array_agg(greatest(pg_wal_lsn_diff(w.position, s.restart_lsn), 0)::bigint ORDER BY s.slot_name), '{}')
    INTO slots, slot_bytes
    FROM pg_replication_slots AS s
    CROSS JOIN (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS position) AS w
    WHERE s.restart_lsn IS NOT NULL;

    -- 4. Transaction ids, which a server without frozen rows runs out of.
    SELECT age(d.datfrozenxid)::bigint, current_setting('autovacuum_freeze_max_age')::bigint INTO database_age, freeze_max_age
    FROM pg_database AS d WHERE d.datname = current_database();
    SELECT t.name, t.age INTO oldest_table, table_age
    FROM (SELECT c.relname::text AS name, greatest(age(c.relfrozenxid), age(toast.relfrozenxid))::bigint AS age
          FROM pg_class AS c
          LEFT JOIN pg_class AS toast ON toast.oid = c.reltoastrelid
          WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind IN ('r', 'm')) AS t
    ORDER BY t.age DESC, t.name LIMIT 1;

    -- 5. Locks in the shared table, which has room for so many by the formula of PostgreSQL's manual, and for somewhat more.
    SELECT count(*), current_setting('max_locks_per_transaction')::bigint
                     * (current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint)
    INTO locks_held, lock_slots
    FROM pg_locks AS l WHERE NOT l.fastpath AND l.locktype <> 'virtualxid' AND l.mode <> 'SIReadLock';

    -- 6. Checkpoints since the statistics were reset.
    IF current_setting('server_version_num')::integer >= 170000 THEN
        SELECT c.num_timed, c.num_requested INTO checkpoints_timed, checkpoints_requested FROM pg_stat_checkpointer AS c;
    ELSE
        SELECT b.checkpoints_timed, b.checkpoints_req INTO checkpoints_timed, checkpoints_requested FROM pg_stat_bgwriter AS b;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.storage_statistics IS
    'What the database takes and what it may run out of. Bytes are with indexes; rest_bytes: of the last partitions, where they hold rows; '
    'ledger_bytes: of all but inbox and outcomes. live_rows and dead_rows: PostgreSQL''s estimates for tables. slot_bytes: the log that each '
    'replication slot keeps. Ages are in transactions: of the oldest row that is not frozen, in the database and in oldest_table of the schemas. '
    'checkpoints_*: since the statistics were reset.';
