-- Reads the statistics of the endpoints.
-- A worker sends it every few seconds for its metrics.
-- Returns a row for each endpoint.
SELECT s.name, s.state, s.lag, s.oldest_undelivered_seconds, s.open_deliveries, s.given_up FROM appstore.endpoint_statistics() AS s;
