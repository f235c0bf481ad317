-- Who repaired what, and why?
SELECT at, actor, action, cardinality(event_ids) AS events, note, details FROM appstore.audit_log ORDER BY at DESC LIMIT 50;
