-- Reads a page of bodies from a range of events.
-- appstore-inbox replay sends it for each page.
-- Returns a row for each body that the inbox still holds, oldest first.
SELECT event_id, source, body
FROM appstore.inbox
WHERE event_id BETWEEN :from_event_id::bigint AND :to_event_id::bigint
ORDER BY event_id
LIMIT :limit::bigint;
