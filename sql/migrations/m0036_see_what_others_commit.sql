-- Orders and links are made in transactions of the shop's own, at any isolation level. An order and its purchase that commit at the same
-- instant must not miss each other: whoever comes second has to see the first, which a snapshot from before his lock does not. And an order
-- that was given to a client must not be lost with the server, as an event must not (m0034): it is the only one to name the purchase's user.
CREATE FUNCTION appstore.demand_read_committed() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'what others commit meanwhile must be seen: call this in READ COMMITTED, not in %',
            upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state';
    END IF;
END
$$;
REVOKE ALL ON FUNCTION appstore.demand_read_committed() FROM PUBLIC;

-- As before (m0032), after that.
CREATE OR REPLACE FUNCTION appstore.lock_for_order(no uuid) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_no uuid := lock_for_order.no;
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.begin_to_store();
    PERFORM FROM appstore.transactions AS t
    WHERE t.transaction_id = ANY (ARRAY(
        SELECT naming.transaction_id FROM appstore.transactions AS naming WHERE naming.first_token = v_no
        UNION
        SELECT naming.transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token))
    ORDER BY t.environment, t.transaction_id FOR UPDATE;
    -- See lock_books: a Sandbox twin that is being inserted now must see this order, or be seen.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
END
$$;

-- As before (m0008, m0019), after that.
CREATE OR REPLACE FUNCTION appstore.record_owner_link(environment text, original_transaction_id text, user_id text, linked_at timestamptz,
                                                      actor text, note text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.begin_to_store();
    PERFORM FROM appstore.transactions AS t
    WHERE t.environment = record_owner_link.environment AND t.original_transaction_id = record_owner_link.original_transaction_id
    ORDER BY t.transaction_id FOR UPDATE;
    INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note)
    VALUES (record_owner_link.environment, record_owner_link.original_transaction_id, record_owner_link.linked_at,
            record_owner_link.user_id, record_owner_link.actor, record_owner_link.note);
    PERFORM appstore.derive_books(record_owner_link.environment, '{}', ARRAY[record_owner_link.original_transaction_id]);
END
$$;
