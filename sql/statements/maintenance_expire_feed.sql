-- Drops the oldest partition of the feed when it has aged.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
SELECT 'dropped ' || f.dropped AS did, 0::bigint AS rows, true AS has_more FROM appstore.expire_feed() AS f (dropped) WHERE f.dropped IS NOT NULL;
