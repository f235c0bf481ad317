CREATE OR REPLACE FUNCTION appstore.api_app_transactions(key_hash bytea, environment appstore.environment, user_id text)
RETURNS TABLE (app_transaction_id text, bundle_id text, original_application_version text, application_version text,
               original_purchase_date timestamptz, original_platform text, preorder_date timestamptz, store_type text, revocation_date timestamptz,
               signed_date timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{entitlements:read,transactions:submit}', ARRAY[api_app_transactions.environment]);
BEGIN
    RETURN QUERY
    SELECT a.app_transaction_id, a.bundle_id, a.original_application_version, a.application_version, a.original_purchase_date,
           a.original_platform, a.preorder_date, a.store_type, a.revocation_date, a.signed_date
    FROM appstore.user_app_transactions AS a
    WHERE a.user_id = api_app_transactions.user_id AND a.environment = api_app_transactions.environment
      AND (v_key.bundle_ids IS NULL OR a.bundle_id = ANY (v_key.bundle_ids))
    ORDER BY a.original_purchase_date, a.app_transaction_id;
END
$$;
COMMENT ON FUNCTION appstore.api_app_transactions IS
    'A user''s downloads of the apps of the key, the oldest first. Verb entitlements:read; transactions:submit suffices as well, since the answer to a '
    'post contains them.';
