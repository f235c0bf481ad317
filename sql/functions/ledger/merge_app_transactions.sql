CREATE OR REPLACE FUNCTION appstore.merge_app_transactions(
    p_event_ids bigint[], p_environments appstore.environment[], p_app_transaction_ids text[], p_bundle_ids text[],
    p_original_application_versions text[], p_application_versions text[], p_original_purchase_dates timestamptz[], p_original_platforms text[],
    p_preorder_dates timestamptz[], p_store_types text[], p_revocation_dates timestamptz[], p_signed_dates timestamptz[], p_payload_hashes bytea[],
    p_user_ids text[], p_received_at timestamptz[])
RETURNS TABLE (event_id bigint, has_changed boolean, user_id text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_fact    record;
    v_changed bigint[] := '{}';
    v_members text[] := '{bundle_id,original_application_version,application_version,original_purchase_date,original_platform,preorder_date,store_type}';
BEGIN
    PERFORM appstore.demand_read_committed();
    -- 1. One by one, since a batch may have several of a download; in the order of the keys, as every writer locks them.
    FOR v_fact IN
        SELECT u.*
        FROM (
            SELECT unnest(p_event_ids) AS event, unnest(p_environments) AS environment, unnest(p_app_transaction_ids) AS id,
                   unnest(p_bundle_ids) AS bundle_id, unnest(p_original_application_versions) AS original_version,
                   unnest(p_application_versions) AS version, unnest(p_original_purchase_dates) AS original_date,
                   unnest(p_original_platforms) AS platform, unnest(p_preorder_dates) AS preorder_date, unnest(p_store_types) AS store_type,
                   unnest(p_revocation_dates) AS revocation_date, unnest(p_signed_dates) AS signed_date,
                   unnest(p_payload_hashes) AS payload_hash, unnest(p_user_ids) AS poster, unnest(p_received_at) AS received_at
        ) AS u
        ORDER BY u.environment, u.id COLLATE "C", u.event
    LOOP
        INSERT INTO appstore.app_transactions AS t
            (environment, app_transaction_id, bundle_id, original_application_version, application_version, original_purchase_date,
             original_platform, preorder_date, store_type, revocation_date, signed_date, payload_hash, event_id, user_id, posted_at,
             post_event_id)
        VALUES (v_fact.environment, v_fact.id, v_fact.bundle_id, v_fact.original_version, v_fact.version, v_fact.original_date, v_fact.platform,
                v_fact.preorder_date, v_fact.store_type, v_fact.revocation_date, v_fact.signed_date, v_fact.payload_hash, v_fact.event,
                v_fact.poster, CASE WHEN v_fact.poster IS NOT NULL THEN v_fact.received_at END,
                CASE WHEN v_fact.poster IS NOT NULL THEN v_fact.event END)
        ON CONFLICT (app_transaction_id, environment) DO UPDATE
        SET (bundle_id, original_application_version, application_version, original_purchase_date, original_platform, preorder_date, store_type,
             revocation_date, signed_date, payload_hash, known, event_id)
            = (SELECT j.bundle_id, j.original_application_version, j.application_version, j.original_purchase_date, j.original_platform,
                      j.preorder_date, j.store_type, j.revocation_date, j.signed_date, j.payload_hash, j.known,
                      CASE WHEN (excluded.signed_date, excluded.payload_hash) = (t.signed_date, t.payload_hash)
                           THEN least(t.event_id, excluded.event_id) ELSE j.event_id END
               FROM appstore.join_statements(t, excluded, v_members) AS j),
            (user_id, posted_at, post_event_id)
            = (SELECT first.user_id, first.posted_at, first.post_event_id
               FROM (VALUES (t.user_id, t.posted_at, t.post_event_id), (excluded.user_id, excluded.posted_at, excluded.post_event_id))
                    AS first (user_id, posted_at, post_event_id)
               ORDER BY first.posted_at NULLS LAST, first.post_event_id LIMIT 1)
        WHERE appstore.join_statements(t, excluded, v_members) IS DISTINCT FROM t
           OR (excluded.user_id IS NOT NULL
               AND (t.user_id IS NULL OR (excluded.posted_at, excluded.post_event_id) < (t.posted_at, t.post_event_id)))
           OR ((excluded.signed_date, excluded.payload_hash) = (t.signed_date, t.payload_hash) AND excluded.event_id < t.event_id);
        IF FOUND THEN
            v_changed := v_changed || v_fact.event;
        END IF;
    END LOOP;
    -- 2. Who has each of them now.
    RETURN QUERY
    SELECT u.event, u.event = ANY (v_changed), t.user_id
    FROM (SELECT unnest(p_event_ids) AS event, unnest(p_environments) AS environment, unnest(p_app_transaction_ids) AS id) AS u
    CROSS JOIN LATERAL (
        SELECT t.user_id FROM appstore.app_transactions AS t WHERE t.app_transaction_id = u.id AND t.environment = u.environment OFFSET 0
    ) AS t;
END
$$;
COMMENT ON FUNCTION appstore.merge_app_transactions IS
    'Merges what Apple says of downloads of apps, one element of each array for each event, with the user who posted it, if any, and when. Returns of '
    'each event whether it changed the row, and the user who posted it first.';

-- plpgsql: it is called for an entry of the feed, and a row of a view.
CREATE OR REPLACE FUNCTION appstore.app_transaction_user(p_environment appstore.environment, p_app_transaction_id text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN coalesce(
        (SELECT a.user_id FROM appstore.app_transactions AS a
         WHERE a.app_transaction_id = p_app_transaction_id AND a.environment = p_environment),
        (SELECT owner.user_id
         FROM appstore.transactions AS t
         LEFT JOIN LATERAL appstore.order_user(t.environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date,
                                               t.is_later_copy) AS o ON true
         LEFT JOIN LATERAL (
             SELECT m.user_id FROM appstore.contracts AS m
             WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = t.environment OFFSET 0
         ) AS m ON true
         CROSS JOIN LATERAL (SELECT appstore.owner_of(o.user_id, m.user_id) AS user_id) AS owner
         WHERE t.app_transaction_id = p_app_transaction_id AND t.environment = p_environment AND owner.user_id IS NOT NULL
         ORDER BY t.purchase_date DESC, length(t.transaction_id) DESC, t.transaction_id DESC LIMIT 1));
END
$$;
COMMENT ON FUNCTION appstore.app_transaction_user IS
    'Whose a download of an app is: the user whose app posted it first, else the owner of the Apple Account''s latest purchase that has one; null where '
    'neither is known.';
