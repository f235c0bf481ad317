CREATE OR REPLACE FUNCTION appstore.record_user_token(token uuid, user_id text, actor text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_token uuid := record_user_token.token;
    v_user  text := record_user_token.user_id;
BEGIN
    PERFORM appstore.check_argument(v_token IS NOT NULL, 'token must not be null', 'Give the appAccountToken that the app passes to StoreKit.'),
            appstore.check_argument(substr(v_token::text, 15, 1) <> '8',
                                    format('token %s is a version 8 UUID, as orders of renewals have', v_token),
                                    'A token may have any other version.'),
            appstore.check_argument(char_length(v_user) BETWEEN 1 AND 255, 'user_id must have 1 to 255 characters',
                                    'Give the id that your own system has for the user.');
    PERFORM appstore.lock_for_order(v_token);
    -- A concurrent merge that makes the order of a token that it does not know waits here, or this waits for it: one sees the other.
    PERFORM appstore.make_orders('Production', ARRAY[v_token]);
    IF EXISTS (SELECT FROM appstore.token_orders AS o WHERE o.order_no = v_token AND o.environment = 'Production' AND o.ordered_at IS NOT NULL) THEN
        RETURN 'order';
    END IF;
    INSERT INTO appstore.user_tokens AS u (token, user_id, set_at, actor) VALUES (v_token, v_user, clock_timestamp(), actor)
    ON CONFLICT (token) DO UPDATE SET user_id = excluded.user_id, set_at = excluded.set_at, actor = excluded.actor
    WHERE appstore.is_forgotten(u.user_id) AND u.user_id <> excluded.user_id;
    IF NOT FOUND THEN
        RETURN CASE WHEN (SELECT u.user_id FROM appstore.user_tokens AS u WHERE u.token = v_token) = v_user THEN 'same' ELSE 'user' END;
    END IF;
    PERFORM appstore.derive_ledger('Production', '{}', '{}', ARRAY[v_token]);
    IF EXISTS (SELECT FROM appstore.token_orders AS o WHERE o.order_no = v_token AND o.environment = 'Sandbox')
       OR EXISTS (SELECT FROM appstore.transactions AS t WHERE t.first_token = v_token AND t.environment = 'Sandbox')
       OR EXISTS (SELECT FROM appstore.transactions AS t
                  WHERE t.app_account_token = v_token AND t.environment = 'Sandbox' AND t.app_account_token <> t.first_token) THEN
        PERFORM appstore.derive_ledger('Sandbox', '{}', '{}', ARRAY[v_token]);
    END IF;
    RETURN 'set';
END
$$;
COMMENT ON FUNCTION appstore.record_user_token IS
    'Says that a token means a user, and derives again the contracts that name it. Returns set, or same where it was said before; or, without a '
    'change, order where it is the number of an order, and user where it means another user.';

CREATE OR REPLACE FUNCTION appstore.set_user_token(token uuid, user_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_result text := appstore.record_user_token(set_user_token.token, set_user_token.user_id, appstore.actor());
BEGIN
    IF v_result = 'order' THEN
        RAISE EXCEPTION 'token % is the number of an order', set_user_token.token
            USING ERRCODE = 'unique_violation', HINT = 'A number means an order or a user: give the user another token.';
    ELSIF v_result = 'user' THEN
        RAISE EXCEPTION 'token % means another user', set_user_token.token
            USING ERRCODE = 'unique_violation', HINT = 'Give each user a token of their own. appstore.link_owner moves a single contract.';
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.set_user_token IS
    'Says that an appAccountToken means this user, for all purchases before and after, in both environments; for apps that give each user one '
    'token. Repeating a call changes nothing. It fails with unique_violation when the token is the number of an order or means another user, and '
    'with invalid_parameter_value for a version 8 UUID. Where it fails with 40P01 or 55P03, call it again.';

CREATE OR REPLACE FUNCTION appstore.api_set_user_token(key_hash bytea, token uuid, user_id text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{orders:create}', '{Production}', NULL);
BEGIN
    RETURN appstore.record_user_token(api_set_user_token.token, api_set_user_token.user_id, 'key ' || v_key.key_id);
END
$$;
COMMENT ON FUNCTION appstore.api_set_user_token IS
    'Says that a token means a user, as set_user_token does, for all apps. Returns set, same where it was said before, order where it is the number '
    'of an order, or user where it means another user. Verb orders:create, of a key for any app: a token counts in all of them.';
