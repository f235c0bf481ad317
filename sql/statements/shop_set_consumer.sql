-- Makes a named consumer of the feed, or moves it.
-- The API's listener sends it for PUT /v1/feed/consumers/{name}.
-- Returns one row; nothing has changed when state is not found.
SELECT state, after, head_generation, head
FROM appstore.api_set_consumer(:key_hash::bytea, :name::text, :generation::integer, :position::bigint, :since::timestamptz);
