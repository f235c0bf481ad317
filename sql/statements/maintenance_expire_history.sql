-- Deletes records of the notification history that have aged and stay counted, and its closed windows.
-- The worker's maintenance sends it. Returns how many rows it deleted; no row when there is nothing to do.
SELECT 'expired history' AS did, h.deleted AS rows, true AS has_more FROM appstore.expire_history() AS h (deleted) WHERE h.deleted > 0;
