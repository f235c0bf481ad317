-- Deletes the next notifications that the table of retention no longer keeps.
-- The worker's maintenance sends it. Returns how many it deleted; no row when it found none.
SELECT 'expired notifications' AS did, n.deleted AS rows, true AS has_more
FROM appstore.expire_notifications() AS n (deleted) WHERE n.deleted > 0;
