-- Sets how the notification history of an app is read.
-- appstore-inbox history mode sends it as appstore_operator.
-- Returns one row without meaning.
SELECT appstore.set_history_mode(:bundle_id::text, :environment::appstore.environment, :mode::text);
