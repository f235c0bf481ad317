-- Reads attempts to deliver to an endpoint, the latest first.
-- The console sends it for its page Endpoint.
-- Returns up to :limit rows as JSON objects.
SELECT to_jsonb(d) AS document
FROM (SELECT * FROM appstore.deliveries AS a
      WHERE a.endpoint = :name::text AND a.attempt_id < coalesce(:before::bigint /* null */, 9223372036854775807)
      ORDER BY a.attempt_id DESC LIMIT :limit::integer) AS d
ORDER BY d.attempt_id DESC;
