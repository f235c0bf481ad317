-- Reads how an endpoint does, and its deliveries that are open, those that were given up first.
-- The console sends it for its page Endpoint.
-- Returns one row as a JSON object, none for an unknown endpoint.
SELECT (to_jsonb(s) || jsonb_build_object(
           'oldest_undelivered', extract(epoch FROM s.oldest_undelivered)::bigint,
           'deliveries', (
               SELECT jsonb_agg(to_jsonb(d) ORDER BY d.given_up_at IS NULL, d.position)
               FROM ((SELECT d.* FROM appstore.open_deliveries AS d
                      WHERE d.endpoint = s.name AND d.given_up_at IS NOT NULL ORDER BY d.position LIMIT 10)
                     UNION ALL
                     (SELECT d.* FROM appstore.open_deliveries AS d
                      WHERE d.endpoint = s.name AND d.given_up_at IS NULL ORDER BY d.position LIMIT 10)) AS d))) AS document
FROM appstore.endpoint_status AS s WHERE s.name = :name::text;
