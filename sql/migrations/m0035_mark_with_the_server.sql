-- A marker says under which start of the server it was written, so that one which outlived the server is told by that and not by comparing
-- clocks: a clock that was set back after the start made every marker one of the server before. And what nobody ever wrote into a marker goes: a
-- batch that its own worker gives up is settled by that worker.
ALTER TABLE appstore.inbox_in_flight
    DROP COLUMN given_up,
    ADD COLUMN server_start timestamptz NOT NULL DEFAULT pg_postmaster_start_time();

-- As before (m0021), without given_up.
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
           (SELECT count(*) FROM appstore.inbox_in_flight AS f WHERE f.lost_at IS NOT NULL),
           (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = 'appstore.inbox'::regclass),
           (SELECT greatest(max(s.age), interval '0') FROM snapshots AS s),
           (SELECT coalesce(max(s.transactions), 0) FROM snapshots AS s),
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
    FROM queue AS q
$$;
