-- Locks of the ledger; sql/README.md has the one order of all writers. Contracts that a writer knows of are locked, and missing rows made, in one
-- statement in the order of their keys. A writer that finds rows later does not wait for them: waiting in another order could be a deadlock.

CREATE OR REPLACE FUNCTION appstore.give_way() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'another transaction holds rows that this one needs' USING ERRCODE = 'deadlock_detected', HINT = 'Repeat the transaction.';
END
$$;
COMMENT ON FUNCTION appstore.give_way IS 'Ends the transaction as a deadlock would, without the wait. The caller repeats it.';

CREATE OR REPLACE FUNCTION appstore.lock_found_contracts(p_environment appstore.environment, p_ids text[]) RETURNS text[]
LANGUAGE plpgsql
SET lock_timeout = '10ms' AS $$ -- bounds the wait for a row that another transaction is making, which SKIP LOCKED does not see
DECLARE
    v_locked   text[];
    v_migrated text[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_ids) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT m.original_transaction_id AS id, m.migrated_from || m.migrated_to AS migrated FROM appstore.contracts AS m
            WHERE m.original_transaction_id = contract.id AND m.environment = p_environment FOR UPDATE SKIP LOCKED
        ) AS found
    )
    SELECT ARRAY(SELECT locked.id FROM locked), ARRAY(SELECT unnest(locked.migrated) FROM locked) INTO v_locked, v_migrated;
    IF cardinality(v_locked) < cardinality(p_ids) THEN
        BEGIN
            INSERT INTO appstore.contracts AS m (environment, original_transaction_id)
            SELECT p_environment, contract.id FROM unnest(p_ids) AS contract (id) WHERE contract.id <> ALL (v_locked)
            ORDER BY contract.id COLLATE "C"
            ON CONFLICT (original_transaction_id, environment) DO UPDATE SET is_contested = m.is_contested WHERE false; -- a lock
        EXCEPTION WHEN lock_not_available THEN
            PERFORM appstore.give_way();
        END;
        v_migrated := v_migrated || ARRAY(
            SELECT unnest(m.migrated_from || m.migrated_to) FROM appstore.contracts AS m
            WHERE m.original_transaction_id = ANY (p_ids) AND m.original_transaction_id <> ALL (v_locked) AND m.environment = p_environment);
    END IF;
    RETURN v_migrated;
END
$$;
COMMENT ON FUNCTION appstore.lock_found_contracts IS
    'Locks these contracts, each named once, and makes the missing rows. Returns the contracts from and to which they have migrated. For a writer '
    'that holds locks already: it calls give_way instead of waiting for a row that another transaction holds or makes.';

CREATE OR REPLACE FUNCTION appstore.make_orders(p_environment appstore.environment, p_tokens uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_personal uuid[];
BEGIN
    v_personal := ARRAY(SELECT u.token FROM appstore.user_tokens AS u WHERE u.token = ANY (p_tokens) ORDER BY u.token FOR SHARE);
    INSERT INTO appstore.token_orders AS o (environment, order_no, user_id, product_id, bundle_id, ordered_at)
    SELECT p_environment, token.order_no, ordered.user_id, ordered.product_id, ordered.bundle_id, ordered.ordered_at
    FROM unnest(p_tokens) AS token (order_no)
    LEFT JOIN LATERAL (
        SELECT o.user_id, o.product_id, o.bundle_id, o.ordered_at FROM appstore.token_orders AS o
        WHERE o.order_no = token.order_no AND o.environment = 'Production' AND p_environment = 'Sandbox' AND o.ordered_at IS NOT NULL
        OFFSET 0
    ) AS ordered ON true
    WHERE token.order_no <> ALL (v_personal)
      AND (p_environment = 'Production'
           OR EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.first_token = token.order_no AND t.environment = p_environment AND t.is_purchased OFFSET 0)
           OR EXISTS (SELECT FROM appstore.token_orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment OFFSET 0))
    ORDER BY token.order_no
    ON CONFLICT (order_no, environment) DO UPDATE SET status = o.status WHERE false; -- a lock
END
$$;
COMMENT ON FUNCTION appstore.make_orders IS
    'Locks the orders with these tokens, each named once, and makes the missing rows, in the order of the tokens; in Sandbox under their advisory '
    'locks, and only rows that a purchase pays. Of a user''s token, which is no order, it locks the row that says so.';

CREATE OR REPLACE FUNCTION appstore.lock_orders(p_environment appstore.environment, p_tokens uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- A Sandbox twin copies the shop's order in Production: both are made under the same lock.
    IF p_environment = 'Sandbox' THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(token.order_no::text, 0)) FROM unnest(p_tokens) AS token (order_no);
    END IF;
    PERFORM appstore.make_orders(p_environment, p_tokens);
END
$$;
COMMENT ON FUNCTION appstore.lock_orders IS
    'Locks the orders with these tokens, sorted and each named once, and makes the missing rows. Waits for other transactions.';

CREATE OR REPLACE FUNCTION appstore.lock_found_orders(p_environment appstore.environment, p_tokens uuid[]) RETURNS void
LANGUAGE plpgsql
SET lock_timeout = '10ms' AS $$ -- as in lock_found_contracts
DECLARE
    v_locked uuid[];
BEGIN
    IF p_environment = 'Sandbox' AND NOT (
        SELECT bool_and(pg_try_advisory_xact_lock(hashtextextended(token.order_no::text, 0))) FROM unnest(p_tokens) AS token (order_no)) THEN
        PERFORM appstore.give_way();
    END IF;
    v_locked := ARRAY(
        SELECT locked.order_no FROM unnest(p_tokens) AS token (order_no)
        CROSS JOIN LATERAL (
            SELECT o.order_no FROM appstore.token_orders AS o
            WHERE o.order_no = token.order_no AND o.environment = p_environment FOR UPDATE SKIP LOCKED
        ) AS locked);
    IF cardinality(v_locked) < cardinality(p_tokens) THEN
        BEGIN
            PERFORM appstore.make_orders(p_environment, ARRAY(SELECT unnest(p_tokens) EXCEPT SELECT unnest(v_locked)));
        EXCEPTION WHEN lock_not_available THEN
            PERFORM appstore.give_way();
        END;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.lock_found_orders IS
    'The same for a writer that has found them under its locks: it calls give_way instead of waiting.';
