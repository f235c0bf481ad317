-- Reads the state of the latest call to Apple about a receipt.
-- The API's listener sends it while a client waits for the outcome of its receipt.
-- Returns one row, or none when there was no such call.
SELECT is_open, denied_because FROM appstore.api_receipt_question(:key_hash::bytea, :call_key::text);
