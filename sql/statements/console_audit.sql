-- Lists entries of the audit before :from, latest first; from the latest one where :from is null.
-- The console's page Audit sends it, as appstore_viewer. Null :actor and :action are ignored.
-- Returns at most :limit rows.
SELECT l.audit_id, l.at, l.actor, l.action, cardinality(l.event_ids) AS events, l.event_ids[1] AS first_event, l.note, l.details::text AS details
FROM appstore.audit_log AS l
WHERE l.audit_id < coalesce(:from::bigint /* null */, 9223372036854775807) AND (:actor::text /* null */ IS NULL OR l.actor = :actor::text)
  AND (:action::text /* null */ IS NULL OR l.action = :action::text)
ORDER BY l.audit_id DESC LIMIT :limit::integer;
