CREATE OR REPLACE FUNCTION appstore.api_request_apple(
    key_hash bytea, kind text, id text /* null */, details jsonb, bundle_id text /* null */, environment appstore.environment /* null */,
    OUT call_id bigint, OUT refusal text, OUT message text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_verbs text[] := CASE kind WHEN 'extend_renewal_date' THEN '{contracts:extend}' WHEN 'set_app_account_token' THEN '{contracts:set-token}'
                                ELSE '{inquiries:make}' END;
    v_key   appstore.api_keys := appstore.authorize(key_hash, v_verbs, '{}');
BEGIN
    PERFORM appstore.check_argument(
        kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction', 'order_lookup',
                 'extend_renewal_date', 'set_app_account_token'),
        format('the API takes no %s', quote_nullable(kind)), 'An operator asks it.');
    call_id := appstore.request_apple(kind, id, details, bundle_id, environment, 'key ' || v_key.key_id, v_key, v_verbs);
EXCEPTION WHEN invalid_parameter_value OR object_in_use THEN
    refusal := CASE SQLSTATE WHEN '22023' THEN 'invalid' ELSE 'in_use' END;
    message := SQLERRM;
END
$$;
COMMENT ON FUNCTION appstore.api_request_apple IS
    'Asks Apple as ask_apple does, or changes something as extend_renewal_date and set_app_account_token do, about an app of the key; instead of '
    'failing for an argument, it returns why. Verbs inquiries:make, contracts:extend and contracts:set-token.';

CREATE OR REPLACE FUNCTION appstore.api_call(key_hash bytea, call_id bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{inquiries:make,contracts:extend,contracts:set-token}', '{}');
BEGIN
    RETURN (
        SELECT appstore.call_document(c.call_id) FROM appstore.outbox AS c
        WHERE c.call_id = api_call.call_id AND c.environment = ANY (v_key.environments)
          AND (v_key.bundle_ids IS NULL OR c.bundle_id = ANY (v_key.bundle_ids))
          AND CASE c.kind WHEN 'extend_renewal_date' THEN v_key.verbs && '{inquiries:make,contracts:extend}'
                          WHEN 'set_app_account_token' THEN v_key.verbs && '{inquiries:make,contracts:set-token}'
                          ELSE v_key.verbs @> '{inquiries:make}'
                               AND c.kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history',
                                              'app_transaction', 'order_lookup') END);
END
$$;
COMMENT ON FUNCTION appstore.api_call IS
    'The state of a call that is about an app of the key; null for any other. Verb inquiries:make; for a change its own verb suffices.';
