-- Asks Apple something that the App Store Server API answers.
-- appstore-inbox apple sends it as appstore_operator.
-- Returns one row: the call, which may be an open one that asks the same; fails where an argument is wrong.
SELECT appstore.ask_apple(:kind::text, :id::text, :bundle_id::text, :environment::text::appstore.environment, :product_id::text) AS call_id;
