-- Reads how many consumption requests wait, until when, and how many were missed.
-- A worker sends it every few seconds for its metrics.
-- Returns one row; due is null where no request waits for a decision.
SELECT s.open, extract(epoch FROM s.due)::float8 AS due, s.missed FROM appstore.consumption_statistics() AS s;
