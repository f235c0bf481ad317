CREATE OR REPLACE VIEW appstore.inbox_status AS
SELECT q.event_id,
       (SELECT i.source FROM appstore.inbox AS i WHERE i.event_id = q.event_id) AS source,
       (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = q.event_id) AS received_at,
       CASE WHEN q.run_at <= statement_timestamp() THEN 'ready' ELSE 'waiting' END AS state,
       NULL::appstore.result AS result, NULL::text AS reason, NULL::text COLLATE "C" AS notification_type, NULL::text COLLATE "C" AS subtype,
       NULL::uuid AS notification_uuid, NULL::text COLLATE "C" AS environment, NULL::text COLLATE "C" AS transaction_id,
       NULL::text COLLATE "C" AS original_transaction_id,
       q.attempts::integer AS attempts, q.run_at AS next_run_at, q.last_error, NULL::timestamptz AS settled_at
FROM appstore.inbox_queue AS q
UNION ALL
SELECT o.event_id, o.source, o.received_at, 'settled', o.result, o.reason, o.notification_type, o.subtype, o.notification_uuid,
       o.environment, o.transaction_id, o.original_transaction_id, o.attempts, NULL, o.last_error, o.settled_at
FROM appstore.outcomes AS o;
COMMENT ON VIEW appstore.inbox_status IS
    'Every event: settled with its result, ready when it is due, or waiting until it is due. Events whose outcome was deleted by age are left out.';
COMMENT ON COLUMN appstore.inbox_status.state IS 'ready, waiting or settled.';
COMMENT ON COLUMN appstore.inbox_status.result IS 'What became of it; null until it is settled.';
COMMENT ON COLUMN appstore.inbox_status.reason IS 'A code; of a discarded event the words of the operator.';
COMMENT ON COLUMN appstore.inbox_status.next_run_at IS 'When it is due; null once it is settled.';
