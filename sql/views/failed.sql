CREATE OR REPLACE VIEW appstore.failed AS
SELECT o.event_id, o.source, o.received_at, o.settled_at, o.reason, o.last_error, o.attempts, o.run,
       o.notification_type, o.subtype, o.notification_uuid, o.environment, o.bundle_id, o.transaction_id, o.original_transaction_id
FROM appstore.outcomes AS o
WHERE o.result = 'failed';
COMMENT ON VIEW appstore.failed IS
    'The dead letters: events that failed at each attempt. appstore.requeue_event runs one again, appstore.discard_event discards it.';
COMMENT ON COLUMN appstore.failed.reason IS 'A code: merge_failed, timed_out, killed_worker, lost_connection, signed_in_the_future.';
