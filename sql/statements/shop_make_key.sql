-- Stores the hash of a new API key with the key's scopes.
-- appstore-inbox key create sends it as appstore_operator.
-- Returns the number of the key.
--
-- :expires_at, :expires_in   when the key expires, or after which time; null for never
SELECT appstore.make_api_key(:key_hash::bytea, :name::text, :bundle_ids::text[] /* null */, :environments::appstore.environment[], :verbs::text[],
                             coalesce(:expires_at::timestamptz /* null */, clock_timestamp() + :expires_in::interval /* null */)) AS key_id;
