-- Lets the workers read the notification history of an app from an earlier day on.
-- appstore-inbox history walk sends it as appstore_operator.
-- Returns one row: how many windows it made.
SELECT appstore.walk_history(:bundle_id::text, :environment::appstore.environment, :since::timestamptz) AS windows;
