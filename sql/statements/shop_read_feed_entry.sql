-- Reads an entry of the feed.
-- The API's listener sends it for GET /v1/feed/{position}.
-- Returns one row; event is null when the key covers no entry with this position.
SELECT appstore.api_feed_entry(:key_hash::bytea, :position::bigint) AS event;
