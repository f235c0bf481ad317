-- Reads the calls that an event asked for, and the call that it is the answer of, without what is sent.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each, as JSON.
SELECT row_to_json(c)::text AS row
FROM appstore.outbox_status AS c
WHERE c.event_id = :event_id::bigint OR c.answer_event_id = :event_id::bigint
ORDER BY c.call_id;
