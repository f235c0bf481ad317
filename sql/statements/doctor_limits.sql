-- Reads the server's settings of the log and of checkpoints, and the locks that sessions of this program may need at once.
-- appstore-inbox doctor sends it, as appstore_viewer or appstore_operator.
-- Returns one row. locks_of_statement: the tables and indexes that a statement about all partitions locks when it is planned, of the partitioned
-- table that has most.
SELECT current_setting('wal_compression') AS wal_compression, pg_size_bytes(current_setting('max_wal_size')) AS max_wal_bytes,
       current_setting('checkpoint_timeout') AS checkpoint_timeout,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity AS a
        WHERE a.datname = current_database() AND (a.usename LIKE 'appstore\_%' OR a.application_name LIKE 'appstore-inbox%')) AS sessions,
       (SELECT coalesce(max(p.locks), 0)::bigint
        FROM pg_catalog.pg_class AS c
        CROSS JOIN LATERAL (
            SELECT sum(1 + (SELECT count(*) FROM pg_catalog.pg_index AS i WHERE i.indrelid = t.relid)) AS locks
            FROM pg_catalog.pg_partition_tree(c.oid) AS t
        ) AS p
        WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'p') AS locks_of_statement;
