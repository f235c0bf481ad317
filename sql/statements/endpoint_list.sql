-- Lists the endpoints by name, and how their deliveries go.
-- appstore-inbox endpoint and doctor send it, as appstore_operator or appstore_viewer.
-- Returns a row for each endpoint.
SELECT e.name, e.endpoint_id, e.url, e.format, e.types, e.bundle_ids, e.environments::text[], e.with_wrong_bundle, e.keeps_order,
       e.max_in_flight, e.max_per_second, e.timeout_seconds, e.state, e.why, e.position, s.lag, s.oldest_undelivered_seconds::float8 AS oldest_undelivered,
       s.open_deliveries AS open, s.given_up, e.succeeded_at, e.last_error, e.open_until IS NOT NULL AS is_probed, e.secret_generation,
       e.secret_generation > 1 AND coalesce(e.rotated_at > clock_timestamp() - interval '24 hours', false) AS previous_secret
FROM appstore.endpoints AS e
JOIN appstore.endpoint_statistics() AS s ON s.name = e.name
ORDER BY e.name;
