-- Checks the next part of an aged partition of the inbox or of the outcomes, and drops it when none of its events is needed.
-- The worker's maintenance sends it. Returns what it did; no row when there is nothing to do.
SELECT d.did || ' ' || d.partition AS did, d.events AS rows, true AS has_more FROM appstore.drop_aged_partition() AS d;
