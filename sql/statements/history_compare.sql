-- Compares what was pushed on a day with what its second walk listed.
-- The worker that leases the window sends it until it is done.
-- Returns one row: whether it is; null when another lease has begun.
SELECT appstore.compare_history_window(:window_id::bigint, :epoch::bigint, :seconds::integer) AS is_done;
