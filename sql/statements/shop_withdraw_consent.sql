-- Withdraws the consent of a user.
-- The API's listener sends it for DELETE /v1/users/{user}/consent.
-- Returns one row; withdrawn is false where no consent is in force.
SELECT appstore.api_withdraw_consent(:key_hash::bytea, :user_id::text) AS withdrawn;
