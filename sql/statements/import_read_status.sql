-- Reads how far imports are.
-- appstore-inbox import sends it, as appstore_viewer or appstore_operator.
-- Returns a row for each import, the newest first; null for the bind selects the last hundred.
SELECT s.import_id, s.bundle_id, s.environment::text, s.depth, s.file_name, s.state, s.made_by, s.made_at, s.ended_at, s.items, s.last_line, s.repeated,
       s.bad_lines, s.found, s.covered, s.unknown, s.failed, s.waiting, s.remaining, s.failing_with, s.rate::double precision AS rate,
       s.allowance, s.blocked_until, extract(epoch FROM s.time_left)::bigint AS time_left, extract(epoch FROM s.least_time)::bigint AS least_time
FROM appstore.import_status AS s
WHERE s.import_id = coalesce(:import_id::integer /* null */, s.import_id)
ORDER BY s.import_id DESC
LIMIT 100;
