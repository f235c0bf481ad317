-- Makes a user the owner of a contract from now on.
-- The console sends it.
-- Returns one row without meaning; an unknown contract is an error.
SELECT appstore.link_owner(:environment::text::appstore.environment, :original_transaction_id::text, :user_id::text, :note::text);
