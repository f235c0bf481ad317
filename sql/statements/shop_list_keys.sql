-- Lists the API keys, oldest first, without their hashes.
-- appstore-inbox key list sends it as appstore_operator.
-- Returns a row for each key, also the revoked and expired ones.
SELECT key_id, name, bundle_ids, environments::text[], verbs, created_at, expires_at, revoked_at, last_used_at
FROM appstore.api_keys
ORDER BY key_id;
