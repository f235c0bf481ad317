-- What receives an event begins with this, in the transaction that stores it.
--
-- 1. The transaction has its number before anybody looks at the clock. A worker remembers that nothing waits below a time, and trusts that
--    whoever looks at the clock from then on gets a greater number than all that were given before (`LowWaterMark`). An INSERT into a partitioned
--    table looks at the clock first, then waits for the partition where somebody has locked it, and gets its number last.
-- 2. Its commit is on the disk before it is answered, though the server or the database has synchronous_commit off for others: Apple does not
--    send again what was answered with 200. `local`, `remote_write` and `remote_apply` stay what they are. As a SET clause of the function that
--    calls this it would end before the commit.
CREATE FUNCTION appstore.begin_to_store() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_current_xact_id();
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;
REVOKE ALL ON FUNCTION appstore.begin_to_store() FROM PUBLIC;

CREATE OR REPLACE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2'::text) RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF source IS NULL OR source NOT IN ('notification_v2', 'notification_v1') THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF cardinality(bodies) > 0 THEN -- A question whether storing would be possible writes nothing, not even that it ended.
        PERFORM appstore.begin_to_store();
    END IF;
    RETURN QUERY
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body)
        SELECT receive.source, clock_timestamp(), received.body
        FROM unnest(bodies) WITH ORDINALITY AS received (body, position)
        ORDER BY received.position
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id;
END
$$;

CREATE OR REPLACE FUNCTION appstore.submit_transaction(body bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT appstore.begin_to_store();
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_transaction', clock_timestamp(), submit_transaction.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id
$$;

CREATE OR REPLACE FUNCTION appstore.submit_receipt(body bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT appstore.begin_to_store();
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_receipt', clock_timestamp(), submit_receipt.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id
$$;
