-- Reads where the feed ends.
-- The API's listener sends it ten times a second while a caller waits for entries.
-- Returns one row.
SELECT generation, position FROM appstore.feed_end();
