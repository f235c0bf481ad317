-- Lets a window begin again, since Apple refused its token.
-- The worker that leases it sends it.
-- Returns one row: restarted or halved; null when another lease has begun.
SELECT appstore.restart_history_window(:window_id::bigint, :epoch::bigint) AS did;
