-- Checks the next part of an aged partition of the inbox or of the outcomes, and drops it when none of its events is needed.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
--
-- :lock_timeout   in milliseconds: how long it waits for the lock of a whole table
SELECT d.did || ' ' || d.partition AS did, d.events AS rows, true AS has_more
FROM (SELECT set_config('lock_timeout', :lock_timeout::text, true) OFFSET 0) AS waiting CROSS JOIN LATERAL appstore.drop_aged_partition() AS d;
