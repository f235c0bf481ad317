-- Reads a named consumer of the feed.
-- The API's listener sends it for GET /v1/feed/consumers/{name}.
-- Returns one row, or none when there is no such consumer.
SELECT generation, position, moved_at, head FROM appstore.api_consumer(:key_hash::bytea, :name::text);
