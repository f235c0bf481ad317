CREATE OR REPLACE FUNCTION appstore.odd_members() RETURNS TABLE (events bigint, outcomes bigint, members text[])
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
    WITH latest AS MATERIALIZED (
        SELECT o.event_id, o.settled_at, o.odd_members FROM appstore.outcomes AS o ORDER BY o.settled_at DESC, o.event_id DESC LIMIT 10000
    ), odd AS MATERIALIZED (
        SELECT l.event_id, note AS member FROM latest AS l CROSS JOIN LATERAL unnest(l.odd_members) AS note
        WHERE note NOT LIKE '%=%' AND l.settled_at > statement_timestamp() - interval '168 hours'
    )
    SELECT (SELECT count(DISTINCT odd.event_id) FROM odd), (SELECT count(*) FROM latest),
           ARRAY(SELECT DISTINCT odd.member FROM odd ORDER BY odd.member LIMIT 20)
$$;
COMMENT ON FUNCTION appstore.odd_members IS
    'Events of the last seven days with members of another type than the program reads, among the latest 10,000 outcomes: how many events, of how '
    'many outcomes, and the first members by name.';
