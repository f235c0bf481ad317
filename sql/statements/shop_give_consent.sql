-- Records that a user consents to tell Apple how purchases were consumed.
-- The API's listener sends it for PUT /v1/users/{user}/consent.
-- Returns since when the consent in force has been given.
SELECT appstore.api_give_consent(:key_hash::bytea, :user_id::text, :evidence::text) AS given_at;
