CREATE OR REPLACE FUNCTION appstore.import_statistics(OUT remaining bigint, OUT eta_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT coalesce(sum(s.remaining), 0), max(extract(epoch FROM s.time_left))::double precision
    FROM appstore.import_status AS s WHERE s.state = 'running'
$$;
COMMENT ON FUNCTION appstore.import_statistics IS
    'Of running imports: how many items are not settled, and the longest time left in seconds; null while no rate is known.';
