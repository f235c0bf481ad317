-- Reads repairs, the latest first.
-- The console sends it for its page Repairs.
-- Returns up to :limit rows as JSON objects.
SELECT (to_jsonb(r) || jsonb_build_object('time_left', extract(epoch FROM r.time_left)::bigint)) AS document
FROM (SELECT * FROM appstore.repair_status AS s WHERE s.repair_id < coalesce(:before::bigint /* null */, 9223372036854775807)
      ORDER BY s.repair_id DESC LIMIT :limit::integer) AS r
ORDER BY r.repair_id DESC;
