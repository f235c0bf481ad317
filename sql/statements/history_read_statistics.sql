-- Reads how far the notification history is read, and its records by class.
-- A worker that has keys sends it every few seconds for its metrics.
-- Returns one row of arrays, null where there is nothing.
SELECT s.environments, s.covered_ages, s.failing, s.counted_environments, s.modes, s.classes, s.records
FROM appstore.history_statistics() AS s;
