-- Stores a receipt that a client posted as an event of the inbox.
-- The API's listener sends it for POST /v1/receipts.
-- Returns the id of the event.
SELECT appstore.api_submit_receipt(:key_hash::bytea, :body::bytea) AS event_id;
