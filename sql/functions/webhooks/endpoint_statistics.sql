CREATE OR REPLACE FUNCTION appstore.endpoint_statistics()
RETURNS TABLE (name text, state text, lag bigint, oldest_undelivered_seconds double precision, open_deliveries bigint, given_up bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    RETURN QUERY
    SELECT s.name, s.state, s.lag, extract(epoch FROM s.oldest_undelivered)::double precision, s.open, s.given_up FROM appstore.endpoint_status AS s;
END
$$;
COMMENT ON FUNCTION appstore.endpoint_statistics IS
    'Each endpoint in numbers: how many entries are behind its cursor, since when the oldest one that it has not got was told, and what is open or '
    'given up, up to 10,000.';

CREATE OR REPLACE FUNCTION appstore.consumer_statistics() RETURNS TABLE (name text, lag bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.name, h.position - c.position FROM appstore.feed_consumers AS c CROSS JOIN appstore.feed_head AS h
$$;
COMMENT ON FUNCTION appstore.consumer_statistics IS 'How many entries each named consumer has not taken.';
