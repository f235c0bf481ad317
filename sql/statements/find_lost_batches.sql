-- Looks for batches that ended without a commit: their crash marker is there, and their advisory lock is free.
-- A worker sends it about once a second. Outside a transaction it only looks; inside one it keeps the locks, so that no other worker
-- judges the same batches.
-- Returns one row: the lanes of such batches, oldest first, and whether an event that must run by itself is due.
--
-- :limit            the most lanes
-- :grace_alone, :grace_together   how long a process has to report that it lives, in milliseconds; see lock_lost_markers
SELECT ARRAY(
           SELECT m.lane
           FROM (
               SELECT m.lane FROM appstore.batch_markers AS m
               WHERE m.lost_at IS NULL
                  OR statement_timestamp() - m.lost_at
                     >= CASE WHEN m.is_alone THEN :grace_alone::bigint ELSE :grace_together::bigint END * interval '1 millisecond'
               ORDER BY m.marked_at, m.lane
               OFFSET 0 -- the lock below is tried in this order, and for no more markers than are wanted
           ) AS m
           WHERE pg_try_advisory_xact_lock(m.lane)
           LIMIT :limit::bigint
       ) AS lanes,
       EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.is_isolated AND q.run_at <= statement_timestamp()) AS isolated_are_due;
