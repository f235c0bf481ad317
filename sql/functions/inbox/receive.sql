CREATE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2') RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF source IS NULL OR source NOT IN ('notification_v2', 'notification_v1') THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Sources are notification_v2 and notification_v1.';
    -- The size of the array: unlike the sum of the bodies' lengths it costs nothing. 2 kB are for what surrounds 64 bodies in it.
    ELSIF cardinality(bodies) > 64 OR pg_column_size(bodies) > 8 * 1024 * 1024 + 2048 THEN
        RAISE EXCEPTION 'a call takes at most 64 bodies and 8 MB of them, not % bodies and % bytes', cardinality(bodies),
            pg_column_size(bodies) USING ERRCODE = 'program_limit_exceeded', HINT = 'Send them in several calls.';
    ELSIF cardinality(bodies) > 0 THEN -- a call without bodies asks whether it could store any, and writes nothing
        RETURN QUERY SELECT appstore.store(source, bodies);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.receive IS
    'Stores the bodies of notifications, at most 64 and 8 MB in one call, and returns the ids of their events, in the order of the bodies. It '
    'errs when one is empty or longer than 4 MB, and has then stored none. Without bodies it only shows that the database accepts some.';
