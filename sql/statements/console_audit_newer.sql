-- Lists entries of the audit after :from, oldest first: the page before one of console_audit.sql.
-- The console's page Audit sends it, as appstore_viewer. Null :actor and :action are ignored.
-- Returns at most :limit rows.
SELECT l.audit_id, l.at, l.actor, l.action, cardinality(l.event_ids) AS events, l.event_ids[1] AS first_event, l.note, l.details::text AS details
FROM appstore.audit_log AS l
WHERE l.audit_id > :from::bigint AND (:actor::text /* null */ IS NULL OR l.actor = :actor::text)
  AND (:action::text /* null */ IS NULL OR l.action = :action::text)
ORDER BY l.audit_id LIMIT :limit::integer;
