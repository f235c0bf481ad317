CREATE OR REPLACE FUNCTION appstore.api_create_order(key_hash bytea, user_id text, product_id text, requested_no uuid, bundle_id text)
RETURNS TABLE (result text, placed appstore.order_state)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key    appstore.api_keys;
    v_bundle text := api_create_order.bundle_id;
    v_no     uuid := coalesce(requested_no, gen_random_uuid());
    v_known  appstore.token_orders;
    v_result text := 'same';
BEGIN
    -- Only Apple decides whether a purchase is made in Sandbox; such a purchase gets a twin of the Production order.
    v_key := appstore.authorize(key_hash, '{orders:create}', '{Production}', array_remove(ARRAY[v_bundle], NULL));
    PERFORM appstore.check_argument(v_bundle IS NOT NULL OR v_key.bundle_ids IS NULL OR cardinality(v_key.bundle_ids) = 1,
                                    'bundle_id must not be null', 'The key is for several apps: name the one that the order is for.');
    v_bundle := coalesce(v_bundle, v_key.bundle_ids[1]);
    PERFORM appstore.lock_for_order(v_no); -- no other transaction makes the order between this look-up and the call
    IF EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = v_no) THEN
        RETURN QUERY SELECT 'user_token', NULL::appstore.order_state;
        RETURN;
    END IF;
    SELECT o.* INTO v_known FROM appstore.token_orders AS o WHERE o.order_no = v_no AND o.environment = 'Production' AND o.ordered_at IS NOT NULL;
    IF v_known.order_no IS NULL THEN
        PERFORM appstore.create_order(api_create_order.user_id, api_create_order.product_id, v_no, v_bundle);
        v_result := 'made';
    ELSIF (v_known.user_id, v_known.product_id, v_known.bundle_id)
          IS DISTINCT FROM (api_create_order.user_id, api_create_order.product_id, v_bundle) THEN
        RETURN QUERY SELECT 'conflict', NULL::appstore.order_state;
        RETURN;
    END IF;
    RETURN QUERY SELECT v_result, ROW(s.*)::appstore.order_state FROM appstore.order_status AS s
                 WHERE s.order_no = v_no AND s.environment = 'Production';
END
$$;
COMMENT ON FUNCTION appstore.api_create_order IS
    'Makes an order as create_order does; without bundle_id it is for the only app of the key. result is made, same when an equal order exists, '
    'conflict when it exists for another user, product or app, or user_token when the number is a user''s token; then placed is null. '
    'Verb orders:create.';

CREATE OR REPLACE FUNCTION appstore.api_link_owner(key_hash bytea, environment appstore.environment, original_transaction_id text, user_id text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{contracts:link}', ARRAY[environment]);
BEGIN
    IF NOT appstore.is_known_purchase(environment, original_transaction_id, v_key.bundle_ids) THEN
        RETURN false;
    END IF;
    PERFORM appstore.link_owner(environment, original_transaction_id, user_id, 'key ' || v_key.key_id);
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.api_link_owner IS
    'Makes a user the owner of a contract as link_owner does; false when no purchase of it by an app of the key is known. Verb contracts:link.';
