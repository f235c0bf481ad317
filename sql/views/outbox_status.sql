CREATE VIEW appstore.outbox_status AS
SELECT c.call_id, c.kind, c.bundle_id, c.event_id, c.state, c.reason,
       CASE WHEN c.state = 'open' AND c.run_at < statement_timestamp() - interval '1 minute' THEN 'no_worker'
            WHEN c.state = 'open' THEN c.last_reason END AS waits_for, c.attempts, c.asked_at,
       CASE WHEN c.state = 'open' THEN c.run_at END AS next_run_at, c.is_leased, c.deadline_at, c.settled_at, c.answer_event_id,
       c.fallback_event_id
FROM appstore.outbox AS c;
COMMENT ON VIEW appstore.outbox_status IS 'The calls of the outbox, without their payload.';
COMMENT ON COLUMN appstore.outbox_status.waits_for IS
    'Of an open call: the reason of its latest attempt, or no_worker when it has been due for a minute: no worker runs, all are busy, or none has '
    'the app''s secret.';
