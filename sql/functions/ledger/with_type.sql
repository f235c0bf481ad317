-- PostgreSQL has no SHA-1 without an extension.
CREATE OR REPLACE FUNCTION appstore.sha1(p_message bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    c_mask constant bigint := 4294967295;
    v_data bytea := p_message || '\x80'::bytea;
    h      bigint[] := '{1732584193,4023233417,2562383102,271733878,3285377520}';
    w      bigint[];
    a bigint; b bigint; c bigint; d bigint; e bigint; f bigint; k bigint; x bigint;
BEGIN
    v_data := v_data || decode(repeat('00', (120 - length(v_data) % 64) % 64), 'hex') || int8send(length(p_message)::bigint * 8);
    FOR block IN 0..length(v_data) / 64 - 1 LOOP
        w := '{}';
        FOR i IN 0..79 LOOP
            IF i < 16 THEN
                x := ('x' || encode(substr(v_data, block * 64 + i * 4 + 1, 4), 'hex'))::bit(32)::bigint & c_mask;
            ELSE
                x := w[i - 2] # w[i - 7] # w[i - 13] # w[i - 15];
                x := ((x << 1) | (x >> 31)) & c_mask;
            END IF;
            w := w || x;
        END LOOP;
        a := h[1]; b := h[2]; c := h[3]; d := h[4]; e := h[5];
        FOR i IN 0..79 LOOP
            IF i < 20 THEN f := (b & c) | ((~b & c_mask) & d); k := 1518500249;
            ELSIF i < 40 THEN f := b # c # d; k := 1859775393;
            ELSIF i < 60 THEN f := ((b & c) | (b & d)) | (c & d); k := 2400959708;
            ELSE f := b # c # d; k := 3395469782;
            END IF;
            x := ((((a << 5) | (a >> 27)) & c_mask) + f + e + k + w[i + 1]) & c_mask;
            e := d; d := c; c := ((b << 30) | (b >> 2)) & c_mask; b := a; a := x;
        END LOOP;
        h := ARRAY[(h[1] + a) & c_mask, (h[2] + b) & c_mask, (h[3] + c) & c_mask, (h[4] + d) & c_mask, (h[5] + e) & c_mask];
    END LOOP;
    RETURN substr(int8send(h[1]), 5) || substr(int8send(h[2]), 5) || substr(int8send(h[3]), 5) || substr(int8send(h[4]), 5)
        || substr(int8send(h[5]), 5);
END
$$;
COMMENT ON FUNCTION appstore.sha1 IS 'SHA-1 (FIPS 180-4), which period_no has. It is no protection.';

CREATE OR REPLACE FUNCTION appstore.purchase_number(t appstore.transactions) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_words  text[] := CASE WHEN t.is_subscription AND t.web_order_line_item_id IS NOT NULL
                            THEN ARRAY['period', t.environment::text, t.original_transaction_id, t.web_order_line_item_id]
                            ELSE ARRAY['charge', t.environment::text, appstore.purchase_of(t)] END;
    v_digest bytea := '\x6f2b0f0e531d4c8a9d5e1c6e0a7741c3'; -- the namespace
BEGIN
    FOR i IN 1..cardinality(v_words) LOOP
        v_digest := v_digest || CASE WHEN i > 1 THEN '\x00' ELSE '' END::bytea || convert_to(v_words[i], 'UTF8');
    END LOOP;
    v_digest := appstore.sha1(v_digest);
    RETURN encode(set_byte(set_byte(substr(v_digest, 1, 16), 6, (get_byte(v_digest, 6) & 15) | 128), 8, (get_byte(v_digest, 8) & 63) | 128),
                  'hex')::uuid;
END
$$;
COMMENT ON FUNCTION appstore.purchase_number IS
    'The number of a transaction''s purchase, as a worker makes it of a fact (OrderNumber). It takes a tenth of a millisecond.';

CREATE OR REPLACE FUNCTION appstore.with_type(t appstore.transactions, p_product_type text, p_is_subscription boolean) RETURNS appstore.transactions
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_typed appstore.transactions := t;
BEGIN
    v_typed.product_type := p_product_type;
    v_typed.is_subscription := appstore.is_subscription(p_product_type, p_is_subscription);
    IF appstore.purchase_of(v_typed) <> appstore.purchase_of(t) THEN
        v_typed.period_no := appstore.purchase_number(v_typed);
    END IF;
    RETURN v_typed;
END
$$;
COMMENT ON FUNCTION appstore.with_type IS
    'A register with the type that another statement has, and the number of the purchase that it is then. p_is_subscription is what its other '
    'members say: see appstore.is_subscription.';
