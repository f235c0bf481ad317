-- Deletes items of imports that have aged, and imports whose file broke off.
-- The worker's maintenance sends it. Returns how many rows it deleted; no row when there is nothing to do.
SELECT 'expired imports' AS did, i.deleted AS rows, true AS has_more FROM appstore.expire_imports() AS i (deleted) WHERE i.deleted > 0;
