-- Lets a window begin again, since Apple refused its token.
-- The worker that leases it sends it.
-- Returns one row: whether it did; false when another lease has begun.
SELECT appstore.restart_history_window(:window_id::bigint, :epoch::bigint) AS is_done;
