CREATE OR REPLACE FUNCTION appstore.renumbered(order_no uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT overlay(renumbered.order_no::text PLACING '8' FROM 15 FOR 1)::uuid WHERE substr(renumbered.order_no::text, 15, 1) = '5'
$$;
COMMENT ON FUNCTION appstore.renumbered IS
    'The number that a period has today, for the one that it had in version 1 of the schema, a version 5 UUID; null for any other number.';

CREATE OR REPLACE FUNCTION appstore.api_order(key_hash bytea, environment appstore.environment, order_no uuid) RETURNS SETOF appstore.order_state
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{orders:read}', ARRAY[environment]);
BEGIN
    RETURN QUERY
    SELECT s.* FROM appstore.order_status AS s
    WHERE s.order_no = ANY (ARRAY[order_no, appstore.renumbered(order_no)]) AND s.environment = environment
      AND (v_key.bundle_ids IS NULL OR s.bundle_id = ANY (v_key.bundle_ids));
END
$$;
COMMENT ON FUNCTION appstore.api_order IS
    'The order with this number. No row when there is none, or when it is not of an app of the key: an order for any app belongs to keys for any '
    'app until it is paid. Verb orders:read.';

CREATE OR REPLACE FUNCTION appstore.api_user_orders(
    key_hash bytea, environment appstore.environment, user_id text, status text /* null */, product_id text /* null */,
    before_at timestamptz /* null */, before_no uuid /* null */, max_orders integer)
RETURNS SETOF appstore.order_state
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{orders:read}', ARRAY[environment]);
    v_at  timestamptz := coalesce(before_at, 'infinity');
    v_no  uuid := coalesce(before_no, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    RETURN QUERY
    SELECT page.*
    FROM (
        (SELECT s.* FROM appstore.user_orders AS s -- 1. the orders of the shop, in the order of their index
         WHERE s.user_id = user_id AND s.environment = environment AND s.ordered_at IS NOT NULL AND (s.ordered_at, s.order_no) < (v_at, v_no)
           AND (s.status = status OR status IS NULL) AND (s.product_id = product_id OR product_id IS NULL)
           AND (s.bundle_id = ANY (v_key.bundle_ids) OR v_key.bundle_ids IS NULL)
         ORDER BY s.ordered_at DESC, s.order_no DESC LIMIT max_orders)
        UNION ALL
        (SELECT u.* FROM appstore.user_orders AS u -- 2. the others: every charge of the user's contracts is read
         WHERE u.user_id = user_id AND u.environment = environment AND u.ordered_at IS NULL AND (u.paid_at, u.order_no) < (v_at, v_no)
           AND (u.status = status OR status IS NULL) AND (u.product_id = product_id OR product_id IS NULL)
           AND (u.bundle_id = ANY (v_key.bundle_ids) OR v_key.bundle_ids IS NULL)
         ORDER BY u.paid_at DESC, u.order_no DESC LIMIT max_orders)
    ) AS page
    ORDER BY coalesce(page.ordered_at, page.paid_at) DESC, page.order_no DESC
    LIMIT max_orders;
END
$$;
COMMENT ON FUNCTION appstore.api_user_orders IS
    'The orders of a user in the apps of the key, newest first by coalesce(ordered_at, paid_at) and order_no, at most max_orders; all statuses and '
    'products where these are null. before_at and before_no are the values of the last order of the page before. Verb orders:read.';
