-- Removes a named consumer of the feed.
-- The API's listener sends it for DELETE /v1/feed/consumers/{name}.
-- Returns one row; removed is false when there is no such consumer.
SELECT appstore.api_remove_consumer(:key_hash::bytea, :name::text) AS removed;
