CREATE OR REPLACE FUNCTION appstore.explain_contract(
    environment appstore.environment, original_transaction_id text, before bigint DEFAULT NULL, max_rows integer DEFAULT 1000)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_environment appstore.environment := explain_contract.environment;
    v_contract    text := explain_contract.original_transaction_id;
    v_story       jsonb;
    v_length      bigint;
BEGIN
    -- 1. The latest entries of its timeline, numbered from the oldest one.
    SELECT jsonb_agg(to_jsonb(s) - 'length' ORDER BY s.place), max(s.length) INTO v_story, v_length
    FROM (
        SELECT t.*, count(*) OVER () AS length FROM appstore.timeline(v_environment, v_contract) WITH ORDINALITY AS t (
            occurred_at, learned_at, event_id, what, transaction_id, product_id, order_no, user_id, detail, place)
        ORDER BY t.place DESC
    ) AS s
    WHERE s.place < coalesce(before, s.length + 1) AND s.place >= least(coalesce(before, s.length + 1), s.length + 1) - max_rows;
    IF v_story IS NULL AND NOT appstore.is_known_purchase(v_environment, v_contract, NULL) THEN
        RETURN NULL;
    END IF;

    -- 2. The rows of the ledger.
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'original_transaction_id', v_contract,
        'environment', v_environment,
        'entitlements', (
            SELECT jsonb_agg(jsonb_build_object(
                       'entitlement', e.entitlement, 'product_id', e.product_id, 'until', e.until, 'will_renew', e.will_renew,
                       'active', coalesce(e.until > statement_timestamp(), false),
                       'why', CASE WHEN e.until > statement_timestamp()
                                   THEN CASE WHEN statement_timestamp() >= e.grace_from THEN 'grace_period' ELSE 'active' END
                                   ELSE e.why_ended END,
                       'original_transaction_id', e.original_transaction_id, 'bundle_id', e.bundle_id)
                   ORDER BY e.entitlement)
            FROM appstore.entitlement_terms AS e WHERE e.original_transaction_id = v_contract AND e.environment = v_environment),
        'orders', (
            SELECT jsonb_agg(to_jsonb(o) - 'environment' ORDER BY coalesce(o.ordered_at, o.paid_at), o.order_no)
            FROM (
                SELECT s.*
                FROM (
                    SELECT DISTINCT named.order_no
                    FROM appstore.transactions AS t, unnest(ARRAY[t.order_no, t.first_token, t.app_account_token]) AS named (order_no)
                    WHERE t.original_transaction_id = v_contract AND t.environment = v_environment
                ) AS named
                CROSS JOIN LATERAL (
                    SELECT s.* FROM appstore.order_status AS s WHERE s.order_no = named.order_no AND s.environment = v_environment OFFSET 0
                ) AS s
                ORDER BY coalesce(s.ordered_at, s.paid_at) DESC, s.order_no DESC LIMIT max_rows
            ) AS o),
        'contracts', (
            SELECT jsonb_agg(jsonb_build_object(
                       'original_transaction_id', m.original_transaction_id, 'bundle_id', m.bundle_id, 'product_id', m.product_id,
                       'status', m.status, 'will_renew', m.will_renew, 'auto_renew_product_id', m.auto_renew_product_id,
                       'renewal_date', m.renewal_date, 'grace_period_expires_date', m.grace_period_expires_date,
                       'current_period_end', m.current_period_end, 'revoked_at', m.revoked_at, 'access_until', m.access_until,
                       'user_id', m.user_id, 'owner_since', m.owner_since))
            FROM appstore.contracts AS m WHERE m.original_transaction_id = v_contract AND m.environment = v_environment),
        'timeline', v_story,
        'timeline_length', v_length));
END
$$;
COMMENT ON FUNCTION appstore.explain_contract IS
    'Everything that the database knows of a contract, in the form of appstore.explain_user: entitlements, orders, the contract, and its timeline. '
    'Of orders and entries of the timeline the latest max_rows; with before, the entries before that place. null for an unknown purchase.';
