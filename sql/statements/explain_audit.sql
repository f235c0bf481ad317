-- Reads the repairs of an event.
-- appstore-inbox explain sends it, in a transaction that only reads. Only a role that may read the audit log may send it.
-- Returns a row for each, as JSON, with the number of its events in place of their ids.
SELECT row_to_json(entry)::text AS row
FROM (
    SELECT audit_id, at, actor, action, cardinality(event_ids) AS events, note, details
    FROM appstore.audit_log
    WHERE event_ids @> ARRAY[:event_id::bigint]
    ORDER BY audit_id
) AS entry;
