-- Reads what an API key permits, by its hash.
-- The API's listener sends it for each request.
-- Returns one row, or none when there is no such key or the key is revoked or expired.
SELECT key_id, bundle_ids, environments, verbs FROM appstore.api_key(:key_hash::bytea);
