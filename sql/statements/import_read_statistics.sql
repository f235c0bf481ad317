-- Reads what is left of the running imports.
-- A worker that has keys sends it every few seconds for its metrics.
-- Returns one row.
SELECT s.remaining, s.eta_seconds FROM appstore.import_statistics() AS s;
