-- Reads the next entries of the feed.
-- The API's listener sends it for GET /v1/feed, and for a caller that waits, when the feed has grown.
-- Returns one row. Without events, state says why, or after is as far as the feed was read.
SELECT state, events, event_types, positions, after, head_generation, head
FROM appstore.api_feed(:key_hash::bytea, :environment::text::appstore.environment, :types::text[], :consumer::text, :generation::integer,
                       :position::bigint, :since::timestamptz, :limit::integer, :as_cloud_events::boolean);
