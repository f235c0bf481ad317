CREATE OR REPLACE VIEW appstore.outbox_status AS
SELECT c.call_id, c.kind, c.bundle_id, c.environment, c.priority, c.event_id, c.state, c.reason,
       CASE WHEN c.state = 'open' AND c.run_at < statement_timestamp() - interval '1 minute' THEN 'no_worker'
            WHEN c.state = 'open' THEN c.waits_for END AS waits_for, c.attempts, c.asked_at,
       CASE WHEN c.state = 'open' THEN c.run_at END AS next_run_at, c.is_leased, c.deadline_at, c.settled_at, c.answer_event_id,
       c.fallback_event_id, c.answer, c.answer_event_ids
FROM appstore.outbox AS c;
COMMENT ON VIEW appstore.outbox_status IS 'The calls of the outbox, without their payload.';
COMMENT ON COLUMN appstore.outbox_status.waits_for IS
    'Of an open call: the reason of its latest attempt, or no_worker when it has been due for a minute: no worker runs, all are busy, or none has '
    'the app''s secret or key.';
COMMENT ON COLUMN appstore.outbox_status.call_id IS 'The number of the call.';
COMMENT ON COLUMN appstore.outbox_status.kind IS 'The service that is called, such as verify_receipt.';
COMMENT ON COLUMN appstore.outbox_status.environment IS 'Apple''s environment that is asked, or asked first.';
COMMENT ON COLUMN appstore.outbox_status.priority IS
    '0 a deadline, 1 a person or program waits, 2 reconciliation, 3 history, 4 import. Lower ones are made first.';
COMMENT ON COLUMN appstore.outbox_status.event_id IS 'The event whose body the call sends.';
COMMENT ON COLUMN appstore.outbox_status.state IS
    'open; answered; refused (a later answer would be the same); given_up (deadline passed); discarded.';
COMMENT ON COLUMN appstore.outbox_status.reason IS 'Why it was refused, given up or discarded.';
COMMENT ON COLUMN appstore.outbox_status.asked_at IS 'When it was written.';
COMMENT ON COLUMN appstore.outbox_status.next_run_at IS 'When an open call is due.';
COMMENT ON COLUMN appstore.outbox_status.is_leased IS 'Whether a worker makes the call until next_run_at.';
COMMENT ON COLUMN appstore.outbox_status.deadline_at IS 'When an open call is given up.';
COMMENT ON COLUMN appstore.outbox_status.answer_event_id IS 'The event that the answer became; the first one of an answer of several bodies.';
COMMENT ON COLUMN appstore.outbox_status.answer IS
    'What of the answer is no event, such as the status of an order number, and how many events there are. Of an open call: its pages so far.';
COMMENT ON COLUMN appstore.outbox_status.answer_event_ids IS 'The events that the answer became, at most 1,000; see appstore.call_document.';
COMMENT ON COLUMN appstore.outbox_status.fallback_event_id IS 'The event that stands for a missing answer.';
