-- Reads what an endpoint gets next.
-- The worker that leases the endpoint sends it when it has room. It marks nothing.
-- Returns due, next and redelivery rows with their body, and through and redelivered_through rows, which only say how far the feed was read; no row
-- when the lease is lost.
--
-- :in_flight   the positions that the worker has and has not reported
SELECT t.kind, t.position, t.redelivery_id, t.id, t.type, t.subject, t.attempts, t.first_failed_ms, t.held_ms, t.body, t.body_missing
FROM appstore.take_deliveries(:name::text, :epoch::bigint, :after::bigint, :in_flight::bigint[], :most::integer, :most_redelivered::integer,
                              :most_bytes::integer) AS t;
