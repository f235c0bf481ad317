-- Deletes calls of the outbox that were settled long ago, and gives up those that no worker made by their deadline.
-- The worker's maintenance sends it. Returns how many calls it deleted; no row when there is nothing to do.
SELECT 'expired calls' AS did, c.deleted AS rows, true AS has_more FROM appstore.expire_calls() AS c (deleted) WHERE c.deleted > 0;
