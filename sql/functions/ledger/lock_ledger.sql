-- Locks of the ledger. Every writer locks in one order: contracts by (environment, id), then transactions, posts, and orders by token. A
-- writer takes locks for rows found later without waiting, or fails: waiting in another order could be a deadlock.

CREATE OR REPLACE FUNCTION appstore.give_way() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'another transaction holds rows that this one needs' USING ERRCODE = 'deadlock_detected', HINT = 'Repeat the transaction.';
END
$$;
COMMENT ON FUNCTION appstore.give_way IS 'Ends the transaction as a deadlock would, without the wait. The caller repeats it.';

CREATE OR REPLACE FUNCTION appstore.lock_contracts(p_environment appstore.environment, p_ids text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_locked  text[];
    v_missing text[];
    v_held    bigint;
BEGIN
    v_locked := ARRAY(
        SELECT locked.id FROM unnest(p_ids) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT m.original_transaction_id AS id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = contract.id AND m.environment = p_environment FOR UPDATE SKIP LOCKED
        ) AS locked);
    IF cardinality(v_locked) < cardinality(p_ids) THEN
        v_missing := ARRAY(SELECT unnest(p_ids) EXCEPT SELECT unnest(v_locked));
        IF EXISTS (SELECT FROM appstore.contracts AS m WHERE m.original_transaction_id = ANY (v_missing) AND m.environment = p_environment) THEN
            PERFORM appstore.give_way();
        END IF;
        -- Waits for rows that other transactions are inserting. PostgreSQL ends a transaction where they wait for one another.
        INSERT INTO appstore.contracts (environment, original_transaction_id)
        SELECT p_environment, contract.id FROM unnest(v_missing) AS contract (id) ORDER BY contract.id COLLATE "C"
        ON CONFLICT (original_transaction_id, environment) DO NOTHING;
        GET DIAGNOSTICS v_held = ROW_COUNT;
        IF v_held < cardinality(v_missing) THEN
            PERFORM FROM appstore.contracts AS m
            WHERE m.original_transaction_id = ANY (v_missing) AND m.environment = p_environment FOR UPDATE SKIP LOCKED;
            GET DIAGNOSTICS v_held = ROW_COUNT;
            IF v_held < cardinality(v_missing) THEN
                PERFORM appstore.give_way();
            END IF;
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.lock_contracts IS
    'Locks these contracts, each named once, and makes the missing rows. Calls give_way instead of waiting for a row that another transaction holds; '
    'waits only for one that another transaction is making.';

CREATE OR REPLACE FUNCTION appstore.lock_orders(p_environment appstore.environment, p_tokens uuid[], p_waits boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_there bigint;
BEGIN
    -- A Sandbox twin copies the shop's order in Production: both are made under the same lock.
    IF p_environment = 'Sandbox' AND p_waits THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(token.order_no::text, 0)) FROM unnest(p_tokens) AS token (order_no);
    ELSIF p_environment = 'Sandbox' AND NOT (
        SELECT bool_and(pg_try_advisory_xact_lock(hashtextextended(token.order_no::text, 0))) FROM unnest(p_tokens) AS token (order_no)) THEN
        PERFORM appstore.give_way();
    END IF;
    FOR attempt IN 1..2 LOOP
        IF p_waits THEN
            PERFORM FROM unnest(p_tokens) AS token (order_no)
            CROSS JOIN LATERAL (
                SELECT FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment FOR UPDATE
            ) AS locked;
        ELSE
            PERFORM FROM unnest(p_tokens) AS token (order_no)
            CROSS JOIN LATERAL (
                SELECT FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment FOR UPDATE SKIP LOCKED
            ) AS locked;
        END IF;
        GET DIAGNOSTICS v_there = ROW_COUNT;
        EXIT WHEN attempt = 2 OR v_there = cardinality(p_tokens);
        INSERT INTO appstore.orders (environment, order_no, user_id, product_id, bundle_id, ordered_at)
        SELECT p_environment, token.order_no, ordered.user_id, ordered.product_id, ordered.bundle_id, ordered.ordered_at
        FROM unnest(p_tokens) AS token (order_no)
        LEFT JOIN LATERAL (
            SELECT o.user_id, o.product_id, o.bundle_id, o.ordered_at FROM appstore.orders AS o
            WHERE o.order_no = token.order_no AND o.environment = 'Production' AND p_environment = 'Sandbox' AND o.ordered_at IS NOT NULL
            OFFSET 0
        ) AS ordered ON true
        WHERE p_environment = 'Production'
           OR EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.first_token = token.order_no AND t.environment = p_environment AND t.is_purchased OFFSET 0)
        ORDER BY token.order_no
        ON CONFLICT (order_no, environment) DO NOTHING;
    END LOOP;
    IF NOT p_waits AND EXISTS (
        SELECT FROM unnest(p_tokens) AS token (order_no)
        CROSS JOIN LATERAL (
            SELECT o.order_no FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment OFFSET 0
        ) AS known
        HAVING count(*) > v_there) THEN
        PERFORM appstore.give_way();
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.lock_orders IS
    'Locks the orders with these tokens, sorted and each named once, and makes the missing rows. With p_waits it waits for rows that '
    'another transaction holds, else it calls give_way.';
