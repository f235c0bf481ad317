-- Stores the answer of a call as an event of the inbox, and ends the call.
-- A worker sends it when the call has been answered.
-- Returns the id of the event, or no row when the lease is not the latest.
SELECT answer.event_id
FROM appstore.answer_call(:call_id::bigint, :epoch::bigint, :source::text, :body::bytea) AS answer (event_id)
WHERE answer.event_id IS NOT NULL;
