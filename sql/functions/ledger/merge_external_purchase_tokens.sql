CREATE OR REPLACE FUNCTION appstore.merge_external_purchase_tokens(
    p_event_ids bigint[], p_environments appstore.environment[], p_external_purchase_ids text[], p_bundle_ids text[], p_app_apple_ids bigint[],
    p_token_types text[], p_token_creation_dates timestamptz[], p_token_expiration_dates timestamptz[], p_subtypes text[],
    p_signed_dates timestamptz[], p_payload_hashes bytea[])
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_fact    record;
    v_event   bigint;
    v_members text[] := '{bundle_id,app_apple_id,token_type,token_creation_date,token_expiration_date}';
BEGIN
    PERFORM appstore.demand_read_committed();
    -- One by one, since a batch may have several of a token; in the order of the keys, as every writer locks them.
    FOR v_fact IN
        SELECT u.*
        FROM (
            SELECT unnest(p_event_ids) AS event_id, unnest(p_environments) AS environment, unnest(p_external_purchase_ids) AS id,
                   unnest(p_bundle_ids) AS bundle_id, unnest(p_app_apple_ids) AS app_apple_id, unnest(p_token_types) AS token_type,
                   unnest(p_token_creation_dates) AS created, unnest(p_token_expiration_dates) AS expires, unnest(p_subtypes) AS subtype,
                   unnest(p_signed_dates) AS signed_date, unnest(p_payload_hashes) AS payload_hash
        ) AS u
        ORDER BY u.environment, u.id COLLATE "C", u.event_id
    LOOP
        INSERT INTO appstore.external_purchase_tokens AS t
            (environment, external_purchase_id, bundle_id, app_apple_id, token_type, token_creation_date, token_expiration_date, subtype,
             signed_date, payload_hash, last_event_id, first_signed_date, first_event_id)
        VALUES (v_fact.environment, v_fact.id, v_fact.bundle_id, v_fact.app_apple_id, v_fact.token_type, v_fact.created, v_fact.expires,
                v_fact.subtype, v_fact.signed_date, v_fact.payload_hash, v_fact.event_id, v_fact.signed_date, v_fact.event_id)
        ON CONFLICT (external_purchase_id, environment) DO UPDATE
        SET (bundle_id, app_apple_id, token_type, token_creation_date, token_expiration_date, subtype, signed_date, payload_hash, known,
             last_event_id)
            = (SELECT j.bundle_id, j.app_apple_id, j.token_type, j.token_creation_date, j.token_expiration_date, j.subtype, j.signed_date,
                      j.payload_hash, j.known,
                      CASE WHEN (excluded.signed_date, excluded.payload_hash) = (t.signed_date, t.payload_hash)
                           THEN least(t.last_event_id, excluded.last_event_id) ELSE j.last_event_id END
               FROM appstore.join_statements(t, excluded, v_members) AS j),
            first_signed_date = least(t.first_signed_date, excluded.first_signed_date),
            first_event_id = CASE WHEN (excluded.first_signed_date, excluded.first_event_id) < (t.first_signed_date, t.first_event_id)
                                  THEN excluded.first_event_id ELSE t.first_event_id END
        WHERE appstore.join_statements(t, excluded, v_members) IS DISTINCT FROM t
           OR (excluded.first_signed_date, excluded.first_event_id) < (t.first_signed_date, t.first_event_id)
           OR ((excluded.signed_date, excluded.payload_hash) = (t.signed_date, t.payload_hash) AND excluded.last_event_id < t.last_event_id)
        RETURNING v_fact.event_id INTO v_event;
        IF FOUND THEN
            RETURN NEXT v_event;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.merge_external_purchase_tokens IS
    'Merges what notifications say of tokens for purchases outside the App Store, one element of each array for each notification. Returns the events '
    'that changed a row. It leaves alone what is said of reports.';
