-- Called in the transaction that stores events, before it stores them.
CREATE OR REPLACE FUNCTION appstore.begin_to_store() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- A worker's low-water mark requires every writer to have its transaction id before it reads the clock. An INSERT into a partitioned
    -- table reads the clock first, then waits for the partition's lock, and gets the id last.
    PERFORM pg_current_xact_id();
    -- Apple does not repeat a notification that was answered with 200, so the commit must be on disk before. A SET clause of the calling
    -- function would end before the commit.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.begin_to_store IS
    'Gives the transaction its number and makes its commit wait for the disk. local, remote_write and remote_apply stay what they are.';

-- Without a SET clause, which would cost time on every call: the callers set their search_path.
CREATE OR REPLACE FUNCTION appstore.store(source text, bodies bytea[]) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.begin_to_store();
    RETURN QUERY
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body)
        SELECT store.source, clock_timestamp(), given.body
        FROM unnest(store.bodies) WITH ORDINALITY AS given (body, position)
        ORDER BY given.position
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_queue.event_id;
END
$$;
COMMENT ON FUNCTION appstore.store IS
    'Stores bodies as events of a source and puts them into the queue. Returns their ids, in the order of the bodies. Only for the functions '
    'of the schema: no role may execute it.';
