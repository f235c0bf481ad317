-- Reads the calls that an event requested, and the call that it answers, without the payload.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each, as JSON.
SELECT row_to_json(c)::text AS row
FROM appstore.outbox_status AS c
WHERE c.event_id = :event_id::bigint OR c.answer_event_id = :event_id::bigint
ORDER BY c.call_id;
