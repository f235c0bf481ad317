-- Counts how many of the named events exist.
-- appstore-inbox requeue and discard send it for a dry run.
-- Returns one number.
--
-- :first, :last   ranges of ids, both ends included
SELECT count(DISTINCT s.event_id)
FROM unnest(:first::bigint[], :last::bigint[]) AS named (first, last)
JOIN appstore.inbox_status AS s ON s.event_id BETWEEN named.first AND named.last;
