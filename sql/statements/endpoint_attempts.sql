-- Reads the latest attempts to deliver to an endpoint.
-- appstore-inbox endpoint sends it as appstore_operator, every 200 ms while it waits for a test.
-- Returns a row for each, the newest first, of the last thousand.
--
-- :id   of the entry; null for any
SELECT d.at, d.type, d.position, d.result, d.status, d.milliseconds, d.answer, d.error
FROM (SELECT l.* FROM appstore.deliveries AS l WHERE l.endpoint = :name::text ORDER BY l.attempt_id DESC LIMIT 1000) AS d
WHERE :id::uuid /* null */ IS NULL OR d.id = :id::uuid
ORDER BY d.attempt_id DESC
LIMIT :most::bigint;
