-- Sets the appAccountToken of a purchase at Apple.
-- appstore-inbox apple set-token sends it as appstore_operator.
-- Returns one row: the call; fails where an argument is wrong.
SELECT appstore.set_app_account_token(:id::text, :token::uuid, :bundle_id::text, :environment::text::appstore.environment) AS call_id;
