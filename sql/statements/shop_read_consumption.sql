-- Reads consumption requests: the one about a transaction, or those that Apple waits for.
-- The API's listener sends it for GET /v1/consumption, and for a decision's answer.
-- Returns a JSON object for each of the apps of the key, the most urgent first.
SELECT appstore.api_consumption(:key_hash::bytea, :environment::appstore.environment, :transaction_id::text, :state::text, :limit::integer)
       AS request;
