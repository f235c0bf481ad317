-- What a key permits. Every api_ function begins with authorize: a role that knows no key reads and writes nothing.
--
-- These and the api_ functions are plpgsql, since they run for each request: an SQL function with a SET clause is planned at each call.
CREATE OR REPLACE FUNCTION appstore.authorize(key_hash bytea, verbs text[], environments appstore.environment[], bundle_ids text[] DEFAULT '{}')
RETURNS appstore.api_keys
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_key     appstore.api_keys;
    v_missing text;
BEGIN
    IF array_position(environments, NULL) IS NOT NULL THEN
        PERFORM appstore.check_environment(NULL);
    END IF;
    SELECT k.* INTO v_key FROM appstore.api_keys AS k WHERE k.key_hash = authorize.key_hash;
    v_missing := CASE
        WHEN v_key.key_id IS NULL OR NOT appstore.is_alive(v_key) THEN 'key_unknown'
        WHEN NOT v_key.verbs && authorize.verbs THEN 'verb_missing'
        WHEN NOT v_key.environments @> authorize.environments THEN 'environment_missing'
        WHEN v_key.bundle_ids IS NOT NULL AND (v_key.bundle_ids @> authorize.bundle_ids) IS NOT TRUE THEN 'app_missing'
    END;
    IF v_missing IS NOT NULL THEN
        RAISE EXCEPTION 'the key does not permit this'
            USING ERRCODE = 'insufficient_privilege', DETAIL = v_missing, HINT = 'appstore.make_api_key makes a key.';
    END IF;
    RETURN v_key;
END
$$;
COMMENT ON FUNCTION appstore.authorize IS
    'The key with that hash, when it has one of the verbs and all of the environments and apps; null bundle_ids require any app. Otherwise it '
    'fails with insufficient_privilege, and DETAIL key_unknown (or revoked, or expired), verb_missing, environment_missing or app_missing.';

-- Reads a body that anyone may have written, and never fails.
CREATE OR REPLACE FUNCTION appstore.posted_scope(body bytea, OUT environment appstore.environment, OUT bundle_ids text[])
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_post jsonb;
BEGIN
    v_post := convert_from(body, 'UTF8')::jsonb;
    IF jsonb_typeof(v_post -> 'bundleIds') <> 'null' THEN
        bundle_ids := ARRAY(SELECT jsonb_array_elements_text(v_post -> 'bundleIds'));
    END IF;
    environment := v_post ->> 'environment';
EXCEPTION WHEN OTHERS THEN
    environment := NULL;
END
$$;
COMMENT ON FUNCTION appstore.posted_scope IS
    'The environment and the apps of a client post; null bundle_ids are any. environment is null when the body cannot be read.';
