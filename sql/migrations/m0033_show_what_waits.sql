-- The state of what has no outcome, as the metrics have it: `waiting` until its time comes, be it for another attempt or because it was put
-- off, and `ready` from then on.
CREATE OR REPLACE VIEW appstore.inbox_status AS
SELECT r.event_id,
       (SELECT i.source FROM appstore.inbox AS i WHERE i.event_id = r.event_id) AS source,
       (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = r.event_id) AS received_at,
       CASE WHEN r.run_at <= statement_timestamp() THEN 'ready' ELSE 'waiting' END AS state,
       NULL::text AS outcome, NULL::text AS reason, NULL::text AS notification_type, NULL::text AS subtype, NULL::text AS notification_uuid,
       NULL::text AS environment, NULL::text AS transaction_id, NULL::text AS original_transaction_id,
       r.attempts::integer AS attempts, r.run_at AS next_run_at, r.last_error, NULL::timestamptz AS settled_at
FROM appstore.inbox_ready AS r
UNION ALL
SELECT o.event_id, o.source, o.received_at, 'settled', o.result, o.reason, o.notification_type, o.subtype, o.notification_uuid,
       o.environment, o.transaction_id, o.original_transaction_id, o.attempts, NULL, o.last_error, o.settled_at
FROM appstore.outcomes AS o;
