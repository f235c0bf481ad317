-- Leases windows of Apple's notification history that are due.
-- A worker sends it when it has room for another window.
-- Returns a row for each window that it leased.
--
-- :near, :days   how many of the near walk at most, and how many others
SELECT w.window_id, w.epoch, w.bundle_id, w.environment::text, w.kind, w.starts_at, w.ends_at, w.token, w.is_read, w.failures
FROM appstore.lease_history_windows(:bundle_ids::text[], :environments::appstore.environment[], :near::integer, :days::integer,
                                    :seconds::integer) AS w;
