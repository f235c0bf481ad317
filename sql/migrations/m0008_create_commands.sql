-- The shop's and the operator's commands: to whom an order, or a contract, belongs.

-- Records that a contract is a user's from a given instant on, and brings the books up to date. Not for callers: see link_owner. The
-- charges are locked first, as a merge does, so that a consumable, which has no contract, cannot be missed either.
CREATE FUNCTION appstore.record_owner_link(environment text, original_transaction_id text, user_id text, linked_at timestamptz, actor text,
                                           note text)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM appstore.transactions AS t
    WHERE t.environment = record_owner_link.environment AND t.original_transaction_id = record_owner_link.original_transaction_id
    ORDER BY t.transaction_id FOR UPDATE;
    INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note)
    VALUES (record_owner_link.environment, record_owner_link.original_transaction_id, record_owner_link.linked_at,
            record_owner_link.user_id, record_owner_link.actor, record_owner_link.note);
    PERFORM appstore.derive_books(record_owner_link.environment, '{}', ARRAY[record_owner_link.original_transaction_id]);
END
$$;

-- Says that a contract (or a single purchase) is this user's from now on: for what no order and no post of a client's settles.
CREATE FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.environment = link_owner.environment AND t.original_transaction_id = link_owner.original_transaction_id)
          AND NOT EXISTS (SELECT FROM appstore.subscriptions AS s
                          WHERE s.environment = link_owner.environment
                            AND s.original_transaction_id = link_owner.original_transaction_id) THEN
        RAISE EXCEPTION 'no purchase is known in % with original_transaction_id %', environment,
            quote_nullable(original_transaction_id) USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM appstore.record_owner_link(link_owner.environment, link_owner.original_transaction_id, link_owner.user_id, clock_timestamp(),
                                       session_user::text, link_owner.note);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'link_owner', '{}', link_owner.note,
            jsonb_build_object('environment', link_owner.environment, 'original_transaction_id', link_owner.original_transaction_id));
END
$$;

-- Makes an order and returns its number, which the client passes to StoreKit as appAccountToken. Calling it again with the same number
-- and the same words changes nothing; with others it is refused. The purchase may have arrived before the order.
CREATE OR REPLACE FUNCTION appstore.create_order(user_id text, product_id text, no uuid DEFAULT gen_random_uuid(),
                                                 bundle_id text DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_no   uuid := coalesce(create_order.no, gen_random_uuid());
    v_made appstore.orders;
BEGIN
    IF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF product_id IS NULL OR octet_length(product_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'product_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(bundle_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'bundle_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- Charges before orders, as a merge locks them: two that wait for each other would cost one of them its transaction.
    PERFORM FROM appstore.transactions AS t
    WHERE t.transaction_id = ANY (ARRAY(
        SELECT naming.transaction_id FROM appstore.transactions AS naming WHERE naming.first_token = v_no
        UNION
        SELECT naming.transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token))
    ORDER BY t.environment, t.transaction_id FOR UPDATE;
    -- See lock_books: a Sandbox twin that is being inserted now must see this order, or be seen.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
    INSERT INTO appstore.orders AS o (environment, no, user_id, product_id, bundle_id, ordered_at)
    VALUES ('Production', v_no, create_order.user_id, create_order.product_id, create_order.bundle_id, clock_timestamp())
    ON CONFLICT (environment, no) DO UPDATE
    SET user_id = excluded.user_id, product_id = excluded.product_id, bundle_id = excluded.bundle_id, ordered_at = excluded.ordered_at
    WHERE o.ordered_at IS NULL AND o.no IS DISTINCT FROM o.period_no;

    SELECT * INTO v_made FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no;
    IF v_made.no = v_made.period_no THEN
        RAISE EXCEPTION 'order % is of a period that Apple charged without being asked', v_no USING ERRCODE = 'unique_violation';
    ELSIF (v_made.user_id, v_made.product_id, v_made.bundle_id)
          IS DISTINCT FROM (create_order.user_id, create_order.product_id, create_order.bundle_id) THEN
        RAISE EXCEPTION 'order % was made for another user, product or bundle', v_no USING ERRCODE = 'unique_violation';
    END IF;
    PERFORM appstore.derive_books('Production', '{}', '{}', ARRAY[v_no]);

    UPDATE appstore.orders AS twin
    SET user_id = v_made.user_id, product_id = v_made.product_id, bundle_id = v_made.bundle_id, ordered_at = v_made.ordered_at
    WHERE twin.environment = 'Sandbox' AND twin.no = v_no AND twin.no IS DISTINCT FROM twin.period_no;
    IF FOUND OR EXISTS (SELECT FROM appstore.transactions AS t
                        WHERE t.environment = 'Sandbox' AND t.app_account_token = v_no AND t.app_account_token <> t.first_token) THEN
        PERFORM appstore.derive_books('Sandbox', '{}', '{}', ARRAY[v_no]);
    END IF;
    RETURN v_no;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.link_owner(text, text, text, text) TO appstore_operator, appstore_backend;
