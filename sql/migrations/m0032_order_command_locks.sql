-- Commands lock in the order of merges (m0031), so that neither costs the other its transaction.

-- Locks the charges that name an order, in both environments, and then the making of it: charges come before orders, as in a merge.
CREATE FUNCTION appstore.lock_for_order(no uuid) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_no uuid := lock_for_order.no;
BEGIN
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
REVOKE ALL ON FUNCTION appstore.lock_for_order(uuid) FROM PUBLIC;

-- Makes an order and returns its number, which the client passes to StoreKit as appAccountToken. Calling it again with the same number
-- and the same words changes nothing; with others it is refused. The purchase may have arrived before the order. As before.
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

    PERFORM appstore.lock_for_order(v_no);
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

-- Makes a Production order as create_order does, and says whether it was 'made', was there with the 'same' words, or with others:
-- 'conflict', and then nothing else. It locked the making before the charges, and a merge of a Sandbox charge the other way round.
CREATE OR REPLACE FUNCTION appstore.api_create_order(user_id text, product_id text, no uuid, bundle_id text)
RETURNS TABLE (result text, order_no uuid, status text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_no    uuid := coalesce($3, gen_random_uuid());
    v_known appstore.orders;
BEGIN
    -- Nobody makes the order between the look at it and the call.
    PERFORM appstore.lock_for_order(v_no);
    SELECT * INTO v_known FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no AND o.ordered_at IS NOT NULL;
    IF v_known.no IS NULL THEN
        PERFORM appstore.create_order($1, $2, v_no, $4);
        RETURN QUERY SELECT 'made', o.no, o.status FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no;
    ELSIF (v_known.user_id, v_known.product_id, v_known.bundle_id) IS DISTINCT FROM ($1, $2, $4) THEN
        RETURN QUERY SELECT 'conflict', v_no, NULL::text;
    ELSE
        RETURN QUERY SELECT 'same', v_no, v_known.status;
    END IF;
END
$$;

-- Writes the alias for the name in the books, as before. It locked contracts before what was posted, and orders of periods before contracts.
CREATE OR REPLACE FUNCTION appstore.rename_in_books(user_id text, alias text, OUT orders bigint, OUT others bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user      text := rename_in_books.user_id;
    v_alias     text := rename_in_books.alias;
    v_contracts appstore.contract_key[];
    v_rows      bigint;
BEGIN
    -- 1. What he posted; his orders, and their twins that are being made; the contracts; the orders of their periods: as a merge locks them.
    PERFORM FROM appstore.submissions AS s WHERE s.user_id = v_user ORDER BY s.transaction_id, s.environment FOR UPDATE;
    PERFORM FROM appstore.receipt_submissions AS s WHERE s.user_id = v_user
    ORDER BY s.original_transaction_id, s.environment, s.transaction_id FOR UPDATE;
    PERFORM pg_advisory_xact_lock(hashtextextended(made.no::text, 0))
    FROM (SELECT DISTINCT o.no FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no IS DISTINCT FROM o.period_no
          ORDER BY o.no) AS made;
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no IS DISTINCT FROM o.period_no
    ORDER BY o.environment, o.no FOR UPDATE;
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c ORDER BY c.environment, c.id);
    PERFORM FROM unnest(v_contracts) AS c (environment, id)
    CROSS JOIN LATERAL (
        SELECT FROM appstore.member_contracts AS m WHERE m.contract_id = c.id AND m.environment = c.environment FOR UPDATE
    ) AS locked;
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no = o.period_no ORDER BY o.environment, o.no FOR UPDATE;

    -- 2. The name.
    UPDATE appstore.orders AS o SET user_id = v_alias WHERE o.user_id = v_user;
    GET DIAGNOSTICS orders = ROW_COUNT;
    UPDATE appstore.member_contracts AS m SET user_id = v_alias WHERE m.user_id = v_user;
    GET DIAGNOSTICS others = ROW_COUNT;
    UPDATE appstore.claims AS k SET user_id = v_alias WHERE k.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.receipt_submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.owner_links AS l SET user_id = v_alias, note = NULL WHERE l.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.effects AS e SET user_id = v_alias
    WHERE e.ctid = ANY (ARRAY(
        SELECT known.ctid
        FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT seen.ctid FROM appstore.effects AS seen
            WHERE seen.original_transaction_id = c.id AND seen.environment = c.environment AND seen.user_id = v_user OFFSET 0
        ) AS known));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
END
$$;
