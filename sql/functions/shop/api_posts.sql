CREATE OR REPLACE FUNCTION appstore.store_post(key_hash bytea, verb text, source text, body bytea) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_scope record;
BEGIN
    SELECT * INTO v_scope FROM appstore.posted_scope(body);
    IF v_scope.environment IS NULL THEN
        RAISE EXCEPTION 'the body names no environment'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'A post is a JSON object with the members environment and bundleIds.';
    END IF;
    -- The worker later verifies the purchase against the environment and apps that the body names.
    PERFORM appstore.authorize(key_hash, ARRAY[verb], ARRAY[v_scope.environment], v_scope.bundle_ids);
    RETURN (SELECT appstore.store(source, ARRAY[body]));
END
$$;
COMMENT ON FUNCTION appstore.store_post IS 'Stores a client post when the key permits it for the environment and the apps that the body names.';

CREATE OR REPLACE FUNCTION appstore.api_submit_transaction(key_hash bytea, body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.store_post(key_hash, 'transactions:submit', 'client_transaction', body);
END
$$;
COMMENT ON FUNCTION appstore.api_submit_transaction IS
    'Stores a transaction that a client posted, and returns the id of its event. Verb transactions:submit.';

CREATE OR REPLACE FUNCTION appstore.api_submit_app_transaction(key_hash bytea, body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.store_post(key_hash, 'transactions:submit', 'client_app_transaction', body);
END
$$;
COMMENT ON FUNCTION appstore.api_submit_app_transaction IS
    'Stores an app transaction that a client posted, and returns the id of its event. Verb transactions:submit.';

CREATE OR REPLACE FUNCTION appstore.api_submit_receipt(key_hash bytea, body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.store_post(key_hash, 'receipts:submit', 'client_receipt', body);
END
$$;
COMMENT ON FUNCTION appstore.api_submit_receipt IS 'Stores a receipt that a client posted, and returns the id of its event. Verb receipts:submit.';

CREATE OR REPLACE FUNCTION appstore.api_event(key_hash bytea, event_id bigint, with_submission boolean)
RETURNS TABLE (received_at timestamptz, settled_at timestamptz, result appstore.result, reason text, environment text, bundle_id text,
               transaction_id text, original_transaction_id text, submission bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys;
BEGIN
    v_key := appstore.authorize(key_hash, '{events:read,transactions:submit,receipts:submit}', '{}');
    RETURN QUERY
    SELECT coalesce(o.received_at, i.received_at), o.settled_at, o.result, o.reason, o.environment::text, o.bundle_id, o.transaction_id,
           o.original_transaction_id, CASE WHEN api_event.with_submission THEN i.body END
    FROM (SELECT api_event.event_id AS event_id) AS asked
    LEFT JOIN appstore.inbox AS i ON i.event_id = asked.event_id
    LEFT JOIN appstore.outcomes AS o ON o.event_id = asked.event_id
    WHERE coalesce(o.source, i.source) IN ('client_transaction', 'client_app_transaction', 'client_receipt')
      AND CASE
              -- A caller that waits for the outcome polls often: the body is read only once there is an outcome.
              WHEN o.event_id IS NULL AND NOT api_event.with_submission THEN true
              ELSE (SELECT coalesce(coalesce(posted.environment::text, verified.environment) = ANY (v_key.environments::text[]),
                                    v_key.environments @> enum_range(NULL::appstore.environment))
                           AND (v_key.bundle_ids IS NULL
                                OR coalesce(verified.bundle_id = ANY (v_key.bundle_ids), v_key.bundle_ids @> posted.bundle_ids))
                    FROM appstore.posted_scope(i.body) AS posted
                    LEFT JOIN LATERAL (SELECT o.environment, o.bundle_id WHERE o.result <> 'rejected') AS verified ON true)
          END;
END
$$;
COMMENT ON FUNCTION appstore.api_event IS
    'The state of a client post; no row for any other event, or for a post outside the key''s environments and apps. Its app is the verified one; '
    'without one, and for a rejected post, the key needs all apps that the post names. Once the body is deleted, a post of which nothing was '
    'verified is only for keys for any app in both environments. (Any key with the verb may see that a post waits, and since when.) submission is '
    'the body, when it is requested and still kept. Verb events:read; the submitting verbs suffice as well, since a post may wait for its outcome.';
