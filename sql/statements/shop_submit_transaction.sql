-- Stores a transaction that a client posted as an event of the inbox.
-- The API's listener sends it for POST /v1/transactions.
-- Returns the id of the event.
SELECT appstore.api_submit_transaction(:key_hash::bytea, :body::bytea) AS event_id;
