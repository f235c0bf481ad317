-- Finds events of the last seven days with members of another type than the program reads. It reads at most 10,000 outcomes.
-- appstore-inbox doctor sends it, as appstore_viewer or appstore_operator.
-- Returns one row: how many events, of how many outcomes, and the first members by name.
WITH latest AS MATERIALIZED (
    SELECT o.settled_at, o.odd_members FROM appstore.outcomes AS o ORDER BY o.settled_at DESC, o.event_id DESC LIMIT 10000
), odd AS MATERIALIZED (
    SELECT l.odd_members FROM latest AS l
    WHERE l.odd_members IS NOT NULL AND l.settled_at > statement_timestamp() - interval '168 hours'
)
SELECT (SELECT count(*) FROM odd) AS events, (SELECT count(*) FROM latest) AS outcomes,
       ARRAY(SELECT DISTINCT member FROM odd CROSS JOIN LATERAL unnest(odd.odd_members) AS member ORDER BY member LIMIT 20) AS members;
