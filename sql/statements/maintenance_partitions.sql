-- Makes a partition of the inbox or of the outcomes ahead of the events, or closes one of the inbox that is old enough.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
SELECT p.did, 0::bigint AS rows, true AS has_more FROM appstore.prepare_partitions() AS p (did) WHERE p.did IS NOT NULL;
