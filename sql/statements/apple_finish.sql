-- Finishes a transaction at Apple.
-- appstore-inbox apple finish sends it as appstore_operator.
-- Returns one row: the call; fails where an argument is wrong.
SELECT appstore.finish_transaction(:id::text, :bundle_id::text, :environment::text::appstore.environment) AS call_id;
