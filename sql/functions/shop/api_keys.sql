CREATE OR REPLACE FUNCTION appstore.is_alive(k appstore.api_keys) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT k.revoked_at IS NULL AND (k.expires_at IS NULL OR statement_timestamp() < k.expires_at)
$$;
COMMENT ON FUNCTION appstore.is_alive IS 'Whether a key permits anything: it is neither revoked nor expired.';

CREATE OR REPLACE FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments appstore.environment[], verbs text[],
                                      expires_at timestamptz DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_key integer;
BEGIN
    PERFORM appstore.check_argument(expires_at IS NULL OR expires_at > clock_timestamp(), format('expires_at is in the past: %s', expires_at),
                                    'Omit it for a key that does not expire.');
    -- Of two calls with one name the second sees the key of the first. A lock of the table would make api_key wait, which records uses.
    PERFORM appstore.demand_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.make_api_key', 0));
    SELECT k.key_id INTO v_key FROM appstore.api_keys AS k WHERE k.name = make_api_key.name AND appstore.is_alive(k);
    IF FOUND THEN
        RAISE EXCEPTION 'key % has the name % already', v_key, quote_literal(name)
            USING ERRCODE = 'unique_violation', HINT = 'Revoke that key first, or choose another name.';
    END IF;
    INSERT INTO appstore.api_keys AS k (name, key_hash, bundle_ids, environments, verbs, expires_at)
    VALUES (make_api_key.name, make_api_key.key_hash, make_api_key.bundle_ids, make_api_key.environments, make_api_key.verbs,
            make_api_key.expires_at)
    RETURNING k.key_id INTO v_key;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'make_api_key', '{}', make_api_key.name,
            jsonb_build_object('key_id', v_key, 'bundle_ids', make_api_key.bundle_ids, 'environments', make_api_key.environments,
                               'verbs', make_api_key.verbs, 'expires_at', make_api_key.expires_at));
    RETURN v_key;
END
$$;
COMMENT ON FUNCTION appstore.make_api_key IS
    'Stores the SHA-256 of a key that the caller has generated, with its scopes, and returns the key''s number. Null bundle_ids stand for any app, '
    'null expires_at for no end. It fails with unique_violation where a living key has the name.';

CREATE OR REPLACE FUNCTION appstore.revoke_api_key(key_id integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_name text;
BEGIN
    UPDATE appstore.api_keys AS k SET revoked_at = clock_timestamp() WHERE k.key_id = revoke_api_key.key_id AND k.revoked_at IS NULL
    RETURNING k.name INTO v_name;
    IF FOUND THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        VALUES (clock_timestamp(), appstore.actor(), 'revoke_api_key', '{}', v_name, jsonb_build_object('key_id', revoke_api_key.key_id));
        RETURN true;
    ELSIF EXISTS (SELECT FROM appstore.api_keys AS k WHERE k.key_id = revoke_api_key.key_id) THEN
        RETURN false;
    END IF;
    RAISE EXCEPTION 'there is no key %', key_id USING ERRCODE = 'no_data_found', HINT = 'The table appstore.api_keys lists the keys.';
END
$$;
COMMENT ON FUNCTION appstore.revoke_api_key IS
    'Revokes a key: from its commit on the key permits nothing. Returns false when the key was already revoked; fails when there is none.';

CREATE OR REPLACE FUNCTION appstore.api_key(key_hash bytea) RETURNS TABLE (key_id integer, bundle_ids text[], environments text[], verbs text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_key appstore.api_keys;
BEGIN
    SELECT k.* INTO v_key FROM appstore.api_keys AS k WHERE k.key_hash = api_key.key_hash;
    IF v_key.key_id IS NULL OR NOT appstore.is_alive(v_key) THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT v_key.key_id, v_key.bundle_ids, v_key.environments::text[], v_key.verbs;
    IF v_key.last_used_at < date_trunc('hour', v_now, 'UTC') OR v_key.last_used_at IS NULL THEN
        -- Of several concurrent requests one writes; the others do not wait for it.
        UPDATE appstore.api_keys AS used SET last_used_at = v_now
        WHERE used.key_id = (SELECT k.key_id FROM appstore.api_keys AS k WHERE k.key_id = v_key.key_id FOR UPDATE SKIP LOCKED);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.api_key IS
    'Returns the scopes of the key with that hash, and records its use once an hour; no row when there is none, or it is revoked or expired. It '
    'grants nothing itself: each api_ function checks the key again.';
