CREATE OR REPLACE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2') RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF source IS NULL OR source NOT IN ('notification_v2', 'notification_v1') THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source)
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Sources are notification_v2 and notification_v1.';
    -- The size of the array costs nothing to read, unlike the sum of the bodies' lengths. 2 kB allow for its headers.
    ELSIF cardinality(bodies) > 64 OR pg_column_size(bodies) > 8 * 1024 * 1024 + 2048 THEN
        RAISE EXCEPTION 'a call takes at most 64 bodies and 8 MB of them, not % bodies and % bytes', cardinality(bodies),
            pg_column_size(bodies) USING ERRCODE = 'program_limit_exceeded', HINT = 'Send them in several calls.';
    ELSIF cardinality(bodies) > 0 THEN
        RETURN QUERY SELECT appstore.store(source, bodies);
    ELSE
        -- A probe: its commit writes a record, so that it waits for a synchronous standby as that of a body does.
        PERFORM pg_logical_emit_message(true, 'appstore', '');
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.receive IS
    'Stores the bodies of notifications, at most 64 and 8 MB in one call, and returns the ids of their events, in the order of the bodies. It '
    'fails when one is empty or longer than 4 MB, and then stores none. Without bodies it only checks that the database commits.';
