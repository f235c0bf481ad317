CREATE OR REPLACE VIEW appstore.inbox_partitions AS
SELECT parent.relname::text AS parent, c.relname::text AS partition, b.from_id, b.to_id,
       coalesce(b.to_id <= s.last_value, false) AS is_past, pg_total_relation_size(c.oid) AS bytes
FROM pg_inherits AS h
JOIN pg_class AS parent ON parent.oid = h.inhparent
JOIN pg_class AS c ON c.oid = h.inhrelid
CROSS JOIN appstore.inbox_event_id AS s
CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) AS e
CROSS JOIN LATERAL (
    SELECT CASE WHEN e.bound <> 'DEFAULT' THEN coalesce(substring(e.bound FROM 'FROM \(''?(\d+)''?\)')::bigint, 0) END AS from_id,
           substring(e.bound FROM 'TO \(''?(\d+)''?\)')::bigint AS to_id
) AS b
WHERE h.inhparent IN ('appstore.inbox'::regclass, 'appstore.outcomes'::regclass);
COMMENT ON VIEW appstore.inbox_partitions IS
    'The partitions of the inbox and of the outcomes (parent): event ids from from_id up to, and without, to_id. Of the last partition to_id is '
    'null, of the default one both are.';
COMMENT ON COLUMN appstore.inbox_partitions.is_past IS 'No new event can be stored in it.';
COMMENT ON COLUMN appstore.inbox_partitions.parent IS 'inbox or outcomes.';
COMMENT ON COLUMN appstore.inbox_partitions.partition IS 'The name of the partition''s table.';
COMMENT ON COLUMN appstore.inbox_partitions.from_id IS 'Its first event id; null for the default partition.';
COMMENT ON COLUMN appstore.inbox_partitions.to_id IS
    'The event id after its last one; null for the last partition, which has all later ids, and for the default one.';
COMMENT ON COLUMN appstore.inbox_partitions.bytes IS 'Its size with indexes.';
