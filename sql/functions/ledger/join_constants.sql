-- Inlined into the statement that merges transactions: without a SET clause, and not strict.
CREATE OR REPLACE FUNCTION appstore.lacks_constants(newer appstore.transactions, older appstore.transactions) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (newer.price IS NULL AND older.price IS NOT NULL)
        OR (newer.currency IS NULL AND older.currency IS NOT NULL)
        OR (newer.quantity IS NULL AND older.quantity IS NOT NULL)
        OR (newer.storefront IS NULL AND older.storefront IS NOT NULL)
        OR (newer.storefront_id IS NULL AND older.storefront_id IS NOT NULL)
        OR (newer.product_type IS NULL AND older.product_type IS NOT NULL)
        OR (newer.original_purchase_date IS NULL AND older.original_purchase_date IS NOT NULL)
        OR (newer.transaction_reason IS NULL AND older.transaction_reason IS NOT NULL)
        OR (newer.offer_type IS NULL AND older.offer_type IS NOT NULL)
        OR (newer.offer_identifier IS NULL AND older.offer_identifier IS NOT NULL)
        OR (newer.offer_discount_type IS NULL AND older.offer_discount_type IS NOT NULL)
        OR (newer.offer_period IS NULL AND older.offer_period IS NOT NULL)
        OR (newer.in_app_ownership_type IS NULL AND older.in_app_ownership_type IS NOT NULL)
        OR (newer.app_transaction_id IS NULL AND older.app_transaction_id IS NOT NULL)
        OR (newer.previous_original_transaction_id IS NULL AND older.previous_original_transaction_id IS NOT NULL)
        OR (newer.subscription_group_identifier IS NULL AND older.subscription_group_identifier IS NOT NULL)
$$;
COMMENT ON FUNCTION appstore.lacks_constants IS
    'Whether the newer register of a transaction lacks a member that cannot change and that the older one has.';

CREATE OR REPLACE FUNCTION appstore.jws_version(t appstore.transactions) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN t.signed_date IS NOT NULL
                THEN jsonb_build_array((extract(epoch FROM t.signed_date) * 1000)::bigint, encode(t.payload_hash, 'hex')) END
$$;
COMMENT ON FUNCTION appstore.jws_version IS 'The version of a register''s JWS half as appstore.transactions.known has it; null without one.';

-- plpgsql: only registers of which one lacks a member come here.
CREATE OR REPLACE FUNCTION appstore.join_constants(t appstore.transactions, other appstore.transactions) RETURNS appstore.transactions
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_own           jsonb := to_jsonb(t);
    v_other         jsonb := to_jsonb(other);
    -- The versions of the JWS halves; null where there is none.
    v_own_jws       jsonb := appstore.jws_version(t);
    v_other_jws     jsonb := appstore.jws_version(other);
    v_newer_jws     boolean := appstore.is_newer(other.signed_date, other.payload_hash, t.signed_date, t.payload_hash);
    v_newest        jsonb := CASE WHEN v_newer_jws THEN v_other_jws ELSE v_own_jws END;
    v_newer_receipt boolean := appstore.is_newer(other.receipt_date, other.receipt_hash, t.receipt_date, t.receipt_hash);
    v_member        text;
    v_own_version   jsonb;
    v_other_version jsonb;
    v_version       jsonb;
    v_takes_other   boolean;
    v_members       jsonb := '{}';
    v_known         jsonb := '{}';
    v_joined        appstore.transactions;
BEGIN
    FOREACH v_member IN ARRAY ARRAY[
        'product_type', 'in_app_ownership_type', 'subscription_group_identifier', 'quantity', 'original_purchase_date', 'price', 'currency',
        'storefront', 'storefront_id', 'transaction_reason', 'offer_type', 'offer_identifier', 'offer_discount_type', 'offer_period',
        'app_transaction_id', 'previous_original_transaction_id'] LOOP
        -- 1. The newest JWS of each that has the member; null where only receipts have it, or nothing has.
        v_own_version := CASE WHEN v_own ->> v_member IS NOT NULL THEN nullif(coalesce(t.known -> v_member, v_own_jws), 'null') END;
        v_other_version := CASE WHEN v_other ->> v_member IS NOT NULL THEN nullif(coalesce(other.known -> v_member, v_other_jws), 'null') END;
        -- 2. Of the same JWS twice the later reading counts: an earlier release may have read it otherwise. Without a JWS the member is a receipt's,
        --    if receipts count for it beside a JWS.
        v_takes_other := CASE
            WHEN v_own_version IS NOT NULL AND v_other_version IS NOT NULL
                THEN ((v_other_version ->> 0)::bigint, decode(v_other_version ->> 1, 'hex'))
                     >= ((v_own_version ->> 0)::bigint, decode(v_own_version ->> 1, 'hex'))
            WHEN v_own_version IS NOT NULL OR v_other_version IS NOT NULL THEN v_own_version IS NULL
            WHEN v_member IN ('product_type', 'in_app_ownership_type', 'subscription_group_identifier')
                THEN coalesce((v_other ->> v_member) COLLATE "C" > (v_own ->> v_member) COLLATE "C", v_own ->> v_member IS NULL)
            WHEN v_member IN ('quantity', 'original_purchase_date') THEN v_newer_receipt END;
        v_members := v_members || jsonb_build_object(
            v_member, CASE WHEN v_takes_other THEN v_other -> v_member WHEN NOT v_takes_other THEN v_own -> v_member END);
        -- 3. Only what is not the newest JWS's is noted.
        v_version := CASE WHEN v_takes_other THEN v_other_version ELSE v_own_version END;
        IF v_members ->> v_member IS NOT NULL AND v_version IS DISTINCT FROM v_newest THEN
            v_known := v_known || jsonb_build_object(v_member, v_version);
        END IF;
    END LOOP;
    v_joined := jsonb_populate_record(CASE WHEN v_newer_jws THEN other ELSE t END, v_members - 'product_type');
    v_joined.known := nullif(v_known, '{}');
    v_joined.is_purchased := appstore.is_purchase(v_joined.in_app_ownership_type);
    v_joined := appstore.with_type(v_joined, v_members ->> 'product_type', v_joined.is_subscription);
    -- 4. A copy has the date of its purchase; without originalPurchaseDate its own statement has that of the restore.
    IF appstore.purchase_of(v_joined) = v_joined.original_transaction_id AND v_joined.transaction_id <> v_joined.original_transaction_id THEN
        v_joined.purchase_date := coalesce(v_joined.original_purchase_date, v_joined.purchase_date);
    END IF;
    RETURN v_joined;
END
$$;
COMMENT ON FUNCTION appstore.join_constants IS
    'Two registers of a transaction, one with a JWS, joined in what cannot change: each member is that of the newest JWS that has it. Where no JWS has '
    'it, type, ownership and subscription group are the greatest of receipts, quantity and original purchase date those of the newest receipt. The '
    'date of a copy''s purchase is its original purchase date. All other columns are those of the register with the newest JWS.';
