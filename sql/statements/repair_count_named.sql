-- Counts the named events that exist, by result, or by state where they have none.
-- appstore-inbox requeue and discard send it before a repair of named events.
-- Returns a row for each result or state.
--
-- :first, :last   ranges of ids, both ends included
SELECT coalesce(s.result::text, s.state) AS result, count(DISTINCT s.event_id) AS events
FROM unnest(:first::bigint[], :last::bigint[]) AS named (first, last)
JOIN appstore.inbox_status AS s ON s.event_id BETWEEN named.first AND named.last
GROUP BY coalesce(s.result::text, s.state)
ORDER BY result;
