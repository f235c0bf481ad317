-- Makes a partition of the inbox or of the outcomes ahead of the events, or closes one of the inbox that is old enough.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
--
-- :lock_timeout   in milliseconds: how long it waits for the lock of a whole table
SELECT p.did, 0::bigint AS rows, true AS has_more
FROM (SELECT set_config('lock_timeout', :lock_timeout::text, true) OFFSET 0) AS waiting CROSS JOIN LATERAL appstore.prepare_partitions() AS p (did)
WHERE p.did IS NOT NULL;
