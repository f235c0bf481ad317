CREATE OR REPLACE FUNCTION appstore.inbox_statistics(
    OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT isolated bigint, OUT failed bigint, OUT overdue interval,
    OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval,
    OUT snapshot_transactions bigint, OUT sees_all_sessions boolean, OUT feed_position bigint, OUT feed_untold interval, OUT feed_lag bigint)
-- Index scans alone bound the rows that are read, under any statistics. plpgsql caches the plan, since planning takes longer than running.
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    WITH first_due AS MATERIALIZED ( -- 1. the queue from its front; dead entries before it are read once
        SELECT q.run_at FROM appstore.inbox_queue AS q ORDER BY q.run_at, q.event_id LIMIT 1
    ), queue AS MATERIALIZED (
        SELECT coalesce((
                   SELECT due.events FROM first_due CROSS JOIN LATERAL (
                       SELECT count(*) AS events FROM (
                           SELECT FROM appstore.inbox_queue AS q WHERE q.run_at >= first_due.run_at AND q.run_at <= statement_timestamp()
                           ORDER BY q.run_at, q.event_id LIMIT 10000) AS one
                   ) AS due), 0) AS ready,
               (SELECT count(*) FROM (
                    SELECT FROM appstore.inbox_queue AS q WHERE q.run_at > statement_timestamp()
                    ORDER BY q.run_at, q.event_id LIMIT 10000) AS one) AS waiting
    ), snapshots AS ( -- 2. the snapshots that keep dead rows
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
                ELSE greatest(q.ready + q.waiting, pg_stat_get_live_tuples('appstore.inbox_queue'::regclass)) END,
           (SELECT count(*) FROM (SELECT FROM appstore.inbox_queue AS q WHERE q.is_isolated LIMIT 10000) AS one),
           (SELECT count(*) FROM (
                SELECT FROM appstore.outcomes AS o WHERE o.result = 'failed' ORDER BY o.result, o.settled_at LIMIT 10000) AS one),
           (SELECT statement_timestamp() - d.run_at FROM first_due AS d WHERE d.run_at <= statement_timestamp()),
           (SELECT statement_timestamp() - i.received_at
            FROM (SELECT q.event_id FROM appstore.inbox_queue AS q ORDER BY q.event_id LIMIT 1) AS oldest
            CROSS JOIN LATERAL (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = oldest.event_id OFFSET 0) AS i),
           statement_timestamp() - coalesce(
               (SELECT newest.received_at
                FROM (SELECT o.event_id, o.received_at, o.source, o.result FROM appstore.outcomes AS o
                      ORDER BY o.event_id DESC LIMIT 10000) AS newest
                WHERE newest.source IN ('notification_v2', 'notification_v1') AND newest.result NOT IN ('rejected', 'failed', 'discarded')
                ORDER BY newest.event_id DESC LIMIT 1),
               (SELECT o.received_at FROM appstore.outcomes AS o ORDER BY o.event_id DESC OFFSET 9999 LIMIT 1)),
           (SELECT count(*) FROM appstore.batch_markers AS m WHERE m.lost_at IS NOT NULL),
           (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = 'appstore.inbox'::regclass),
           (SELECT greatest(max(s.age), interval '0') FROM snapshots AS s),
           (SELECT coalesce(max(s.transactions), 0) FROM snapshots AS s),
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
           CASE WHEN f.is_on THEN h.position END,
           (SELECT statement_timestamp() - t.told_at FROM appstore.tells AS t -- not those that were open at the latest step
            WHERE t.xid >= coalesce(pg_snapshot_xmax(h.told_snapshot), '0') ORDER BY t.xid, t.tell_id LIMIT 1),
           (SELECT max(h.position - c.position) FROM appstore.feed_consumers AS c)
    INTO ready, waiting, unsettled, isolated, failed, overdue, oldest_unsettled, silence, lost_batches, partitions, snapshot_age,
         snapshot_transactions, sees_all_sessions, feed_position, feed_untold, feed_lag
    FROM queue AS q CROSS JOIN appstore.feed_head AS h CROSS JOIN appstore.feed_switch AS f;
END
$$;
COMMENT ON FUNCTION appstore.inbox_statistics IS
    'The inbox in numbers, of one instant. Counts stop at 10,000, which then means as many or more. overdue: how long the first due event has '
    'been due; oldest_unsettled: since the arrival of the first event without an outcome; silence: since the last genuine notification, at '
    'least; snapshot_*: the oldest snapshot that keeps vacuum from removing dead rows, of all sessions if sees_all_sessions; feed_position: null while '
    'the feed is off; feed_untold: since the oldest change without a position in the feed; feed_lag: how many entries the last named consumer has '
    'not taken.';

CREATE OR REPLACE FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    SELECT count(*), statement_timestamp() - min(first.asked_at)
    FROM (SELECT c.asked_at FROM appstore.outbox AS c WHERE c.state = 'open' AND c.deadline_at IS NOT NULL
          ORDER BY c.deadline_at, c.call_id LIMIT 10000) AS first
$$;
COMMENT ON FUNCTION appstore.outbox_statistics IS
    'How many calls are open, up to 10,000, which then means as many or more, and since when the oldest of these was asked for. They are those '
    'with the first deadlines: where all calls get the same time, the oldest ones.';

CREATE OR REPLACE FUNCTION appstore.events_not_exactly_once() RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.event_id FROM appstore.inbox AS i
    WHERE NOT EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = i.event_id)
      AND NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id)
    UNION ALL
    SELECT q.event_id FROM appstore.inbox_queue AS q
    WHERE EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = q.event_id)
       OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = q.event_id)
$$;
COMMENT ON FUNCTION appstore.events_not_exactly_once IS
    'The events that violate the invariant, normally none: every event of the inbox waits or has an outcome, never both, and an event that waits '
    'has its body. An outcome may outlive its body. Reads all events.';
