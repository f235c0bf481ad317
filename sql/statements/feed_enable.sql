-- Turns the feed on, from now.
-- appstore-inbox endpoint create sends it as appstore_operator.
-- Returns the generation of the feed.
SELECT appstore.enable_feed() AS generation;
