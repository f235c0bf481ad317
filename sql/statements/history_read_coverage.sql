-- Reads until when the notification history was read.
-- appstore-inbox history sends it, as appstore_viewer or appstore_operator.
-- Returns a row for each app and environment; null for the binds selects all.
SELECT c.bundle_id, c.environment::text, c.mode, c.covered_from, c.covered_to, extract(epoch FROM c.age)::bigint AS age, c.since, c.edge,
       c.open_windows, c.confirmed, c.recovered, c.taken_elsewhere, c.refused_here, c.in_flight, c.unlisted, c.missed_by_both
FROM appstore.history_coverage AS c
WHERE c.bundle_id = coalesce(:bundle_id::text /* null */, c.bundle_id)
  AND c.environment::text = coalesce(:environment::text /* null */, c.environment::text)
ORDER BY c.bundle_id, c.environment;
