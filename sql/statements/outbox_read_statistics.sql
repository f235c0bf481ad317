-- Reads the statistics of the outbox.
-- A worker sends it every few seconds for its metrics.
-- Returns one row: how many calls are open, counted up to ten thousand, and the seconds since the oldest of them was opened.
SELECT s.open, extract(epoch FROM s.oldest)::float8 AS oldest FROM appstore.outbox_statistics() AS s;
