CREATE OR REPLACE FUNCTION appstore.demand_read_committed() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- Where an order and its purchase are committed concurrently, the second must see the first. A snapshot from before its lock would not
    -- show it.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'this must see what other transactions commit meanwhile: call it in READ COMMITTED, not in %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', HINT = 'Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED.';
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.demand_read_committed IS 'Fails with invalid_transaction_state unless the transaction is at READ COMMITTED.';

CREATE OR REPLACE FUNCTION appstore.lock_for_order(order_no uuid) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_no uuid := lock_for_order.order_no;
BEGIN
    PERFORM appstore.demand_read_committed();
    -- The order must be on disk before a client gets it: nothing else names the user of its purchase.
    PERFORM appstore.begin_to_store();
    PERFORM FROM (
        SELECT naming.environment, naming.original_transaction_id AS id FROM appstore.transactions AS naming
        WHERE naming.first_token = v_no
        UNION
        SELECT naming.environment, naming.original_transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token
        ORDER BY 1, 2
    ) AS contract
    CROSS JOIN LATERAL (
        SELECT FROM appstore.contracts AS m
        WHERE m.original_transaction_id = contract.id AND m.environment = contract.environment FOR UPDATE
    ) AS locked;
    PERFORM FROM appstore.transactions AS t
    WHERE t.transaction_id = ANY (ARRAY(
        SELECT naming.transaction_id FROM appstore.transactions AS naming WHERE naming.first_token = v_no
        UNION
        SELECT naming.transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token))
    ORDER BY t.environment, t.transaction_id FOR UPDATE;
    -- A concurrent merge that inserts the Sandbox twin takes the same lock, so that one of the two sees the other.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
END
$$;
COMMENT ON FUNCTION appstore.lock_for_order IS
    'Locks the contracts and the transactions that name an order, in both environments, and then the order number itself, in the order in which a '
    'merge locks.';

CREATE OR REPLACE FUNCTION appstore.create_order(user_id text, product_id text, order_no uuid DEFAULT gen_random_uuid(), bundle_id text DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_no   uuid;
    v_made appstore.token_orders;
BEGIN
    v_no := coalesce(create_order.order_no, gen_random_uuid());
    PERFORM appstore.check_argument(char_length(user_id) BETWEEN 1 AND 255, 'user_id must have 1 to 255 characters',
                                    'Give the id that your own system has for the user.'),
            appstore.check_argument(char_length(product_id) BETWEEN 1 AND 255, 'product_id must have 1 to 255 characters',
                                    'Give the id that the product has in App Store Connect.'),
            appstore.check_argument(bundle_id IS NULL OR char_length(bundle_id) BETWEEN 1 AND 255, 'bundle_id must have 1 to 255 characters',
                                    'Omit it when any app may pay the order.'),
            -- Numbers of periods are version 8 UUIDs derived from Apple's data: an order with such a number would block the merge of a purchase.
            appstore.check_argument(substr(v_no::text, 15, 1) <> '8', format('order_no %s is a version 8 UUID, as orders of renewals have', v_no),
                                    'Omit order_no, or make it with gen_random_uuid().');
    PERFORM appstore.lock_for_order(v_no);
    IF EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = v_no) THEN
        RAISE EXCEPTION 'order_no % is the token of a user', v_no
            USING ERRCODE = 'unique_violation', HINT = 'Omit order_no to get a new number. Purchases with that token need no order.';
    END IF;
    INSERT INTO appstore.token_orders AS o (environment, order_no, user_id, product_id, bundle_id, ordered_at)
    VALUES ('Production', v_no, create_order.user_id, create_order.product_id, create_order.bundle_id, clock_timestamp())
    ON CONFLICT (order_no, environment) DO UPDATE
    SET user_id = excluded.user_id, product_id = excluded.product_id, bundle_id = excluded.bundle_id, ordered_at = excluded.ordered_at
    WHERE o.ordered_at IS NULL;
    SELECT o.* INTO v_made FROM appstore.token_orders AS o WHERE o.order_no = v_no AND o.environment = 'Production';
    IF (v_made.user_id, v_made.product_id, v_made.bundle_id)
       IS DISTINCT FROM (create_order.user_id, create_order.product_id, create_order.bundle_id) THEN
        RAISE EXCEPTION 'order % exists for another user, product or bundle', v_no
            USING ERRCODE = 'unique_violation', HINT = 'Omit order_no to get a new number.';
    END IF;
    PERFORM appstore.derive_ledger('Production', '{}', '{}', ARRAY[v_no]);

    -- The Sandbox twin, and contracts of Sandbox that a later token of this number claims.
    UPDATE appstore.token_orders AS twin
    SET user_id = v_made.user_id, product_id = v_made.product_id, bundle_id = v_made.bundle_id, ordered_at = v_made.ordered_at
    WHERE twin.order_no = v_no AND twin.environment = 'Sandbox';
    IF FOUND OR EXISTS (SELECT FROM appstore.transactions AS t
                        WHERE t.app_account_token = v_no AND t.environment = 'Sandbox' AND t.app_account_token <> t.first_token) THEN
        PERFORM appstore.derive_ledger('Sandbox', '{}', '{}', ARRAY[v_no]);
    END IF;
    RETURN v_no;
END
$$;
COMMENT ON FUNCTION appstore.create_order IS
    'Makes an order in Production and returns its number, which the app passes to StoreKit as appAccountToken. The purchase may have arrived '
    'before. Repeating a call with the same number changes nothing; it fails with unique_violation when the number was used for another user, '
    'product or bundle or is a user''s token, and with invalid_parameter_value for a version 8 UUID. Where it fails with 40P01 or 55P03, call it '
    'again.';
