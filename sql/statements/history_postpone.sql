-- Ends the lease of a window without a page.
-- The worker that leases it sends it after a failure, or when it shuts down.
-- Returns one row: false when another lease has begun.
SELECT appstore.postpone_history_window(:window_id::bigint, :epoch::bigint, :reason::text, :delay_milliseconds * interval '1 millisecond',
                                        :counts::boolean) AS is_ours;
