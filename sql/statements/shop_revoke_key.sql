-- Revokes an API key.
-- appstore-inbox key revoke sends it as appstore_operator.
-- Returns false when the key was already revoked; an unknown number is an error.
SELECT appstore.revoke_api_key(:key_id::integer) AS revoked;
