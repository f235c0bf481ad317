-- Decides consumption requests by policy shortly before they are due, and counts those that were missed.
-- The worker's maintenance sends it. Returns how many requests it decided; no row when there was nothing to decide.
SELECT 'answered consumption requests by policy' AS did, c.decided AS rows, c.decided = 500 AS has_more
FROM appstore.apply_consumption_policies() AS c
WHERE c.decided > 0;
