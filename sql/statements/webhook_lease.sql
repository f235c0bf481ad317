-- Leases endpoints that no worker has.
-- A worker sends it when it has room for another endpoint. The lease is the epoch, which each other statement repeats, and a time.
-- Returns a row for each endpoint that it leased. open_for_ms: until the next probe, null while the breaker is closed.
--
-- :slots     how many at most
-- :seconds   how long the lease lasts; webhook_poll renews it
SELECT l.name, l.endpoint_id, l.epoch, l.url, l.format, l.keeps_order, l.max_in_flight, l.max_per_second, l.timeout_seconds, l.secret_generation,
       l.previous_secret, l.position, l.failures, l.failing_since_ms, l.open_for_ms, l.probes
FROM appstore.lease_endpoints(:slots::integer, :seconds::integer) AS l;
