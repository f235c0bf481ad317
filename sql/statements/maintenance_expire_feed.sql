-- Takes away the oldest entries of the feed that have aged.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
SELECT f.did, 0::bigint AS rows, true AS has_more FROM appstore.expire_feed() AS f (did) WHERE f.did IS NOT NULL;
