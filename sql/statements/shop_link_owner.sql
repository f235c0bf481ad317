-- Makes a user the owner of a contract from now on.
-- The API's listener sends it for PUT /v1/contracts/{originalTransactionId}/owner.
-- Returns false when no transaction of the contract by an app of the key is known.
SELECT appstore.api_link_owner(:key_hash::bytea, :environment::appstore.environment, :original_transaction_id::text, :user_id::text) AS linked;
