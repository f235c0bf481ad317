-- Locks the crash markers of lost batches.
-- A worker sends it after find_lost_batches, in the same transaction: the marker of a batch that has just committed is gone only for a
-- later statement.
-- Returns a row for each marker that is still there and that no other worker has locked.
--
-- :lanes                          the batches
-- :grace_alone, :grace_together   how long a process has to report that it lives, after its batch was first found lost, in milliseconds: for
--                                 an isolated event, and for all others
SELECT m.lane, m.event_ids, m.is_alone, m.lost_at IS NOT NULL AS is_noted,
       coalesce(statement_timestamp() - m.lost_at, interval '0')
           >= CASE WHEN m.is_alone THEN :grace_alone::bigint ELSE :grace_together::bigint END * interval '1 millisecond' AS is_overdue,
       m.server_start <> pg_postmaster_start_time() AS ended_with_server
FROM appstore.batch_markers AS m
WHERE m.lane = ANY (:lanes::bigint[])
ORDER BY m.lane
FOR UPDATE SKIP LOCKED;
