-- Reads the windows of the notification history that are not complete, those that fail longest first.
-- appstore-inbox history gaps sends it, as appstore_viewer or appstore_operator.
-- Returns a row for each window; null for the first binds selects all.
SELECT g.window_id, g.bundle_id, g.environment::text, g.kind, g.starts_at, g.ends_at, g.why, g.made_at, g.failing_since, g.failures, g.restarts,
       g.pages, g.listed, g.stored, g.next_run_at
FROM appstore.history_gaps AS g
WHERE g.bundle_id = coalesce(:bundle_id::text /* null */, g.bundle_id)
  AND g.environment::text = coalesce(:environment::text /* null */, g.environment::text)
ORDER BY g.failing_since, g.starts_at, g.window_id
LIMIT :most::integer;
