-- Reads the state of a call.
-- appstore-inbox apple sends it as appstore_operator, again and again while it waits for the answer.
-- Returns one row: a JSON object, or null when there is no such call.
SELECT appstore.call_document(:call_id::bigint) AS call;
