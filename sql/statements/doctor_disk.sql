-- Measures the schema: events, room in the partitions, and what retention would free. It reads at most 10,000 outcomes.
-- appstore-inbox doctor sends it, as appstore_viewer or appstore_operator.
-- Returns one row. room says for how many ids after the newest event there are partitions.
WITH partitions AS MATERIALIZED (
    SELECT p.* FROM appstore.inbox_partitions AS p
), newest AS MATERIALIZED (
    SELECT o.event_id, o.received_at FROM appstore.outcomes AS o ORDER BY o.event_id DESC LIMIT 10000
), last AS MATERIALIZED (
    SELECT coalesce(greatest((SELECT max(n.event_id) FROM newest AS n), (SELECT max(q.event_id) FROM appstore.inbox_queue AS q)), 0) AS event_id
), aged AS ( -- partitions whose newest event is older than its retention
    SELECT p.bytes
    FROM partitions AS p
    CROSS JOIN appstore.retention AS r
    CROSS JOIN LATERAL (SELECT o.settled_at FROM appstore.outcomes AS o WHERE o.event_id < p.to_id ORDER BY o.event_id DESC LIMIT 1) AS o
    WHERE p.is_past AND o.settled_at < statement_timestamp() - CASE p.parent WHEN 'inbox' THEN r.bodies ELSE r.outcomes END
)
SELECT -- PostgreSQL's estimate, which a server that has just started lacks.
       greatest((SELECT count(*) FROM newest AS n),
                (SELECT coalesce(sum(pg_stat_get_live_tuples(to_regclass('appstore.' || p.partition)::oid)), 0)::bigint
                 FROM partitions AS p WHERE p.parent = 'outcomes')) AS events,
       -- Over at least a day, so that the first minutes of a shop do not count as a rush.
       (SELECT count(*) / greatest(extract(epoch FROM statement_timestamp() - min(n.received_at)) / 86400, 1) FROM newest AS n)::double precision
           AS events_a_day,
       (SELECT count(*) FROM partitions AS p WHERE p.parent = 'inbox') AS partitions,
       (SELECT greatest(min(p.room), 0) FROM (SELECT max(p.to_id) - 1 - last.event_id AS room FROM partitions AS p GROUP BY p.parent) AS p) AS room,
       r.bodies::text AS bodies, r.outcomes::text AS outcomes,
       (SELECT coalesce(sum(a.bytes), 0)::bigint FROM aged AS a) AS aged_bytes
FROM last CROSS JOIN appstore.retention AS r;
