-- Deletes the next rows that the table of retention no longer keeps.
-- The worker's maintenance sends it. Returns how many rows it deleted; no row when there is nothing to do.
--
-- :walk   what to delete, such as rejected_bodies; see appstore.expire
SELECT 'expired ' || :walk::text AS did, e.deleted AS rows, e.checked > 0 AS has_more
FROM appstore.expire(:walk::text) AS e
WHERE e.checked > 0 OR e.deleted > 0;
