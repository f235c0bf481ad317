-- Stores the hash of a new API key with the key's scopes.
-- appstore-inbox key create sends it as appstore_operator.
-- Returns the number of the key.
SELECT appstore.make_api_key(:key_hash::bytea, :name::text, :bundle_ids::text[], :environments::appstore.environment[], :verbs::text[]) AS key_id;
