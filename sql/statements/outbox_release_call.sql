-- Releases the lease of a call that was not made: the call is due at once.
-- A worker sends it when it shuts down. It does nothing when the lease is not the latest.
-- Returns no rows.
--
-- IS TRUE keeps the planner from the partial indexes of open calls: the row is found by its id.
UPDATE appstore.outbox SET is_leased = false, run_at = clock_timestamp()
WHERE call_id = :call_id::bigint AND epoch = :epoch::bigint AND (state = 'open') IS TRUE;
