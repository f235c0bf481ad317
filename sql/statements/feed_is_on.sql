-- Reads whether changes are told.
-- appstore-inbox endpoint create sends it as appstore_operator.
-- Returns one row: true or false.
SELECT s.is_on FROM appstore.feed_switch AS s;
