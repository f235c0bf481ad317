-- Takes away the oldest entries of the feed that have aged.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
--
-- :lock_timeout   in milliseconds: how long it waits for the lock of a whole table
SELECT f.did, 0::bigint AS rows, true AS has_more
FROM (SELECT set_config('lock_timeout', :lock_timeout::text, true) OFFSET 0) AS waiting CROSS JOIN LATERAL appstore.expire_feed() AS f (did)
WHERE f.did IS NOT NULL;
