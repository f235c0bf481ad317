-- Moves the start of a window forward by an hour, since Apple called it too old.
-- The worker that leases it sends it.
-- Returns one row: the new start, which is the window's end where no hour is left; null when another lease has begun.
SELECT appstore.advance_history_window(:window_id::bigint, :epoch::bigint) AS starts_at;
