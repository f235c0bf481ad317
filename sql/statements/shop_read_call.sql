-- Reads the state of a call to Apple.
-- The API's listener sends it for GET /v1/inquiries/{id}, and while a client waits for the answer.
-- Returns one row: a JSON object, or null when no such call is covered by the key.
SELECT appstore.api_call(:key_hash::bytea, :call_id::bigint) AS call;
