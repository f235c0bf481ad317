-- Asks Apple, or lets Apple change something.
-- The API's listener sends it for POST /v1/inquiries, and for the extension and the appAccountToken of a contract.
-- Returns one row: the call, or why an argument is refused.
SELECT call_id, refusal, message
FROM appstore.api_request_apple(:key_hash::bytea, :kind::text, :id::text, :details::text::jsonb, :bundle_id::text,
                                :environment::text::appstore.environment);
