-- The switch of the feed. Both functions wait for every transaction that has read it, and let no other read it until they commit: each change
-- is either part of what enable_feed reads, or told.

CREATE OR REPLACE FUNCTION appstore.enable_feed(with_past boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' SET jit = off AS $$
DECLARE
    v_now        timestamptz := clock_timestamp();
    v_generation integer;
BEGIN
    PERFORM appstore.demand_read_committed();
    LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE;
    IF (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RAISE NOTICE 'the feed is on';
        RETURN (SELECT h.generation FROM appstore.feed_head AS h);
    END IF;
    UPDATE appstore.feed_switch SET is_on = true;
    UPDATE appstore.feed_head AS h
    SET generation = appstore.next_generation(h.generation), cluster = appstore.feed_cluster(), told_snapshot = NULL, target_snapshot = NULL, enabled_at = v_now,
        turned_to = '-infinity'
    RETURNING h.generation INTO v_generation;
    INSERT INTO appstore.feed_generations (generation, from_position, began_at, is_complete)
    SELECT v_generation, h.position + 1, v_now, with_past FROM appstore.feed_head AS h;
    IF with_past THEN
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'effect', e.environment, e.effect_id::text FROM appstore.effect_log AS e ORDER BY e.occurred_at, e.event_id, e.effect_id;
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'order', o.environment, o.order_no::text FROM appstore.token_orders AS o
        WHERE o.ordered_at IS NOT NULL AND o.status <> 'pending' ORDER BY o.paid_at, o.order_no;
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'contract', m.environment, m.original_transaction_id FROM appstore.contracts AS m
        WHERE m.user_id IS NOT NULL ORDER BY m.started_at, m.original_transaction_id;
    ELSE
        INSERT INTO appstore.told_access (environment, original_transaction_id, entitlement, user_id, active, until, why, turns_at, changes)
        SELECT m.environment, m.original_transaction_id, a.entitlement, a.user_id, a.active, a.until, a.why, a.turns_at, 0
        FROM appstore.contracts AS m
        CROSS JOIN LATERAL appstore.access_of(m.environment, m.original_transaction_id, v_now) AS a
        WHERE m.user_id IS NOT NULL;
        INSERT INTO appstore.told_orders (environment, order_no, status, changes)
        SELECT o.environment, o.order_no, o.status, 0 FROM appstore.token_orders AS o WHERE o.ordered_at IS NOT NULL AND o.status <> 'pending';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'enable_feed', '{}', jsonb_build_object('generation', v_generation, 'with_past', with_past));
    RETURN v_generation;
END
$$;
COMMENT ON FUNCTION appstore.enable_feed IS
    'Turns the feed on and returns its generation. From now, or, with_past, with all effects of the past first, in the order in which they '
    'happened, then the orders and the access of now. Reads the whole ledger, while workers and create_order wait, up to '
    'their lock_timeout, after which they fail and try again: SET statement_timeout = 0 for a large one.';

CREATE OR REPLACE FUNCTION appstore.disable_feed() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    v_dropped bigint;
    v_readers text;
BEGIN
    PERFORM appstore.demand_read_committed();
    LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE;
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RAISE NOTICE 'the feed is off';
        RETURN;
    END IF;
    v_readers := (SELECT string_agg(r.name, ', ' ORDER BY r.name)
                  FROM (SELECT 'endpoint ' || e.name FROM appstore.endpoints AS e
                        UNION ALL SELECT 'consumer ' || c.name FROM appstore.feed_consumers AS c) AS r (name));
    IF v_readers IS NOT NULL THEN
        RAISE EXCEPTION 'the feed is read by %', v_readers USING ERRCODE = 'object_not_in_prerequisite_state', HINT =
            'They would miss what is not told. Remove them first: appstore.remove_endpoint(…), appstore.remove_consumer(…).';
    END IF;
    SELECT count(*) INTO v_dropped FROM appstore.tells;
    IF v_dropped > 0 THEN
        RAISE NOTICE '% changes have no position yet and are not told', v_dropped;
    END IF;
    UPDATE appstore.feed_switch SET is_on = false;
    TRUNCATE appstore.tells, appstore.told_access, appstore.told_orders;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids) VALUES (clock_timestamp(), appstore.actor(), 'disable_feed', '{}');
END
$$;
COMMENT ON FUNCTION appstore.disable_feed IS
    'Turns the feed off. What is in it stays until it ages; what was not numbered yet is dropped. enable_feed starts a new generation. Fails while '
    'there are endpoints.';

-- Of two standbys that are promoted one after the other, the second may not know of the first: the clock keeps their generations apart.
CREATE OR REPLACE FUNCTION appstore.next_generation(p_generation integer) RETURNS integer
LANGUAGE sql VOLATILE AS $$
    SELECT CASE p_generation WHEN 0 THEN 1
                             ELSE greatest(p_generation + 1, extract(epoch FROM clock_timestamp() - timestamptz '2026-01-01 00:00Z')::integer) END
$$;
COMMENT ON FUNCTION appstore.next_generation IS
    'The generation after this one: 1 for the first, then the seconds since the begin of 2026, so that no two histories share one.';

CREATE OR REPLACE FUNCTION appstore.feed_cluster() RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT concat_ws('/', (SELECT c.system_identifier FROM pg_control_system() AS c), left(pg_walfile_name(pg_current_wal_lsn()), 8),
                     (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()), 'appstore.feed_head'::regclass::oid)
$$;
COMMENT ON FUNCTION appstore.feed_cluster IS
    'The system identifier, the timeline, the database and the table: another value after a failover, a restore or a copy.';
