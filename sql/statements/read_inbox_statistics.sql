-- Reads the statistics of the inbox, all of one instant, durations in seconds.
-- The worker sends it every 15 seconds for its metrics and readyz; status sends it once.
-- Returns one row.
SELECT s.ready, s.waiting, s.unsettled, s.isolated, s.failed, extract(epoch FROM s.overdue)::double precision AS overdue,
       extract(epoch FROM s.oldest_unsettled)::double precision AS oldest_unsettled,
       extract(epoch FROM s.silence)::double precision AS silence, s.lost_batches, s.partitions,
       extract(epoch FROM s.snapshot_age)::double precision AS snapshot_age, s.snapshot_transactions, s.sees_all_sessions, s.feed_position,
       extract(epoch FROM s.feed_untold)::double precision AS feed_untold, s.feed_lag
FROM appstore.inbox_statistics() AS s;
