-- Deletes attempts to deliver that have aged, and gives up deliveries whose entry is gone.
-- The worker's maintenance sends it. Returns how many rows it changed; no row when there is nothing to do.
SELECT 'expired deliveries' AS did, d.deleted AS rows, true AS has_more FROM appstore.expire_deliveries() AS d (deleted) WHERE d.deleted > 0;
