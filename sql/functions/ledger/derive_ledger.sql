CREATE OR REPLACE FUNCTION appstore.derive_ledger(
    p_environment appstore.environment, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[] DEFAULT '{}', p_renewals text[] DEFAULT '{}',
    p_is_exclusive boolean DEFAULT false)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET enable_bitmapscan = off SET jit = off AS $$ -- nested loops and single indexes only: a plan that was cached for small
-- tables would read whole indexes later
DECLARE
    v_affected         record;
    v_locked_tokens    uuid[] := '{}';
    v_locked_contracts text[] := '{}';
    v_migrating        text[] := '{}'; -- contracts of charges that name one before
    v_migrated         text[] := '{}'; -- contracts from or to which a locked one has migrated
    v_tokens           uuid[];
    v_contracts        text[];
    v_is_first         boolean := true;
    v_is_told          boolean;
BEGIN
    -- 1. Lock what the changes name, then what a query under the locks finds beside it, until it finds no more. Only the first round waits for
    --    locks of orders.
    v_tokens := p_tokens;
    v_contracts := p_contract_ids || p_renewals;
    IF cardinality(p_transaction_ids) > 0 THEN
        SELECT v_tokens || coalesce(array_agg(named.order_no) FILTER (WHERE named.order_no IS NOT NULL), '{}'),
               v_contracts || coalesce(array_agg(named.contract) FILTER (WHERE named.contract IS NOT NULL), '{}'),
               coalesce(array_agg(DISTINCT named.contract) FILTER (WHERE named.has_migrated), '{}')
        INTO v_tokens, v_contracts, v_migrating
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.first_token, t.left_token, t.app_account_token, t.is_purchased OR t.token_changed AS names_orders,
                   t.original_transaction_id, t.left_contract, t.previous_original_transaction_id
            FROM appstore.transactions AS t WHERE t.transaction_id = moved.id AND t.environment = p_environment OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            VALUES (t.first_token, t.original_transaction_id, t.previous_original_transaction_id IS NOT NULL),
                   (t.left_token, t.left_contract, t.left_contract IS NOT NULL AND t.previous_original_transaction_id IS NOT NULL),
                   (t.app_account_token, t.previous_original_transaction_id, false)
        ) AS of_charge (token, contract, has_migrated)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN t.names_orders THEN of_charge.token END AS order_no, of_charge.contract, of_charge.has_migrated
        ) AS named;
    END IF;
    LOOP
        v_tokens := ARRAY(SELECT unnest(v_tokens) EXCEPT SELECT unnest(v_locked_tokens) ORDER BY 1);
        v_contracts := ARRAY(SELECT unnest(v_contracts) COLLATE "C" EXCEPT SELECT unnest(v_locked_contracts) COLLATE "C" ORDER BY 1);
        EXIT WHEN NOT v_is_first AND cardinality(v_tokens) = 0 AND cardinality(v_contracts) = 0;
        IF p_is_exclusive THEN
            -- Advisory locks are held until the commit: those of some thousand tokens would fill the server's table of locks.
            PERFORM appstore.make_orders(p_environment, v_tokens);
        ELSIF cardinality(v_tokens) > 0 AND v_is_first THEN
            PERFORM appstore.lock_orders(p_environment, v_tokens);
        ELSIF cardinality(v_tokens) > 0 THEN
            PERFORM appstore.lock_found_orders(p_environment, v_tokens);
        END IF;
        IF cardinality(v_contracts) > 0 THEN
            v_migrated := v_migrated || appstore.lock_found_contracts(p_environment, v_contracts);
        END IF;
        v_locked_tokens := v_locked_tokens || v_tokens;
        v_locked_contracts := v_locked_contracts || v_contracts;
        SELECT * INTO v_affected
        FROM appstore.affected_rows(p_environment, p_transaction_ids, p_contract_ids, p_tokens, p_renewals);
        v_tokens := v_affected.tokens;
        v_contracts := v_affected.contracts || v_migrated;
        v_is_first := false;
    END LOOP;
    IF cardinality(v_migrating || v_migrated) > 0 THEN
        PERFORM appstore.record_migrations(p_environment, v_migrating);
        v_affected.claimed := appstore.with_migrated(p_environment, v_affected.claimed || v_migrating, false, true);
        v_affected.contracts := ARRAY(SELECT unnest(v_locked_contracts) COLLATE "C" AS id ORDER BY id);
    END IF;
    -- 2. Each step reads the result of the one before it.
    IF cardinality(v_affected.unsure) > 0 THEN
        PERFORM appstore.derive_token_orders(p_environment, v_affected.unsure);
    END IF;
    IF cardinality(v_affected.claimed) > 0 THEN
        PERFORM appstore.derive_claims(p_environment, v_affected.claimed, v_migrating || v_migrated);
    END IF;
    IF cardinality(v_affected.shared) > 0 THEN
        -- A charge that was not bought has no order that says which period it has left. What it has left there may be no copy any longer.
        v_affected.periods := ARRAY(
            SELECT unnest(v_affected.periods)
            UNION
            SELECT copy.period_no
            FROM unnest(v_affected.shared) AS contract (id)
            CROSS JOIN LATERAL (
                SELECT t.period_no, t.is_purchased FROM appstore.transactions AS t
                WHERE t.original_transaction_id = contract.id AND t.environment = p_environment AND t.is_later_copy OFFSET 0
            ) AS copy
            WHERE NOT copy.is_purchased
            ORDER BY 1);
    END IF;
    IF cardinality(v_affected.periods) > 0 THEN
        PERFORM appstore.point_to_orders(p_environment, v_affected.periods, p_transaction_ids);
    END IF;
    IF cardinality(v_affected.contracts) > 0 THEN
        PERFORM appstore.derive_contracts(p_environment, v_affected.contracts);
    END IF;
    -- 3. Tell what may have changed; the sequencer compares it with what was told.
    v_is_told := (SELECT s.is_on FROM appstore.feed_switch AS s);
    IF v_is_told THEN
        INSERT INTO appstore.tells (kind, environment, ref)
        SELECT 'order', p_environment, changed.order_no::text FROM unnest(v_affected.unsure) AS changed (order_no)
        UNION ALL
        SELECT 'contract', p_environment, changed.id FROM unnest(v_affected.contracts) AS changed (id);
    END IF;
    RETURN v_is_told;
END
$$;
COMMENT ON FUNCTION appstore.derive_ledger IS
    'Brings orders, claims and contracts up to date after changes of these transactions (p_transaction_ids), posts and links (p_contract_ids), '
    'orders made (p_tokens) and other rows of contracts (p_renewals). The caller has locked the contracts that it knows of. Fails with '
    'deadlock_detected where another transaction holds a row that it needs; the caller then repeats its transaction. p_is_exclusive: the caller has '
    'locked all tables of the ledger, so that no locks of single orders are needed. Returns whether the feed is on.';
