CREATE OR REPLACE FUNCTION appstore.unknown_values()
RETURNS TABLE (outcomes bigint, unknown text[], events bigint[], latest_event_ids bigint[])
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH latest AS MATERIALIZED (
        SELECT o.event_id, o.settled_at, o.odd_members FROM appstore.outcomes AS o ORDER BY o.settled_at DESC, o.event_id DESC LIMIT 10000
    ), noted AS MATERIALIZED (
        SELECT note, count(*) AS events, max(l.event_id) AS event_id
        FROM latest AS l CROSS JOIN LATERAL unnest(l.odd_members) AS note
        WHERE note LIKE '%=%' AND l.settled_at > statement_timestamp() - interval '168 hours'
        GROUP BY note ORDER BY note LIMIT 20
    )
    SELECT (SELECT count(*) FROM latest),
           ARRAY(SELECT n.note FROM noted AS n ORDER BY n.note),
           ARRAY(SELECT n.events FROM noted AS n ORDER BY n.note),
           ARRAY(SELECT n.event_id FROM noted AS n ORDER BY n.note)
$$;
COMMENT ON FUNCTION appstore.unknown_values IS
    'The first values of Apple''s lists, as member=value, that the program did not know when it settled events of the last seven days among the '
    'latest 10,000 outcomes: of how many outcomes, and for each value the number of events and the latest of them.';
