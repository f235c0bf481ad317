-- Asks for all endpoints of a worker whether there is anything to send, and renews leases.
-- A worker sends it some ten times a second. It writes only to renew a lease.
-- Returns a row for each endpoint that still is the worker's, with the settings that may have changed.
--
-- :after     one element for each name: how far the worker has read the feed
-- :seconds   a lease with less than half of it left is renewed
SELECT p.name, p.has_work, p.url, p.keeps_order, p.max_in_flight, p.max_per_second, p.timeout_seconds, p.secret_generation, p.previous_secret,
       p.position
FROM appstore.poll_endpoints(:names::text[], :epochs::bigint[], :after::bigint[], :seconds::integer) AS p;
