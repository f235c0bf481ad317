-- What the HTTP interface for the shop's own backend stands on: its keys, and the only functions that its role may call. Each function
-- returns what a request may see of the books; whether the caller's key covers it is decided by the program, but for the apps of a key,
-- which are a condition of the queries.

-- Bearer keys. A key is 256 random bits and is shown once; only its SHA-256 is kept. It is found by the index on the hash: how long that
-- takes tells at most something about the hash of a guess, and nobody can choose guesses by their hash, so no comparison in constant time
-- is needed, and a slow hash would only defend what is guessable.
CREATE TABLE appstore.api_keys (
    key_id       integer     NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text        NOT NULL,               -- who has it
    key_hash     bytea       NOT NULL UNIQUE,
    bundle_ids   text[],                             -- the apps that it is for; null for any
    environments text[]      NOT NULL,
    verbs        text[]      NOT NULL,               -- what may be done with it
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at   timestamptz,
    last_used_at timestamptz,                        -- to the hour, so that a busy key is not written at each use
    CONSTRAINT api_keys_name_is_short CHECK (octet_length(name) BETWEEN 1 AND 100),
    CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
    CONSTRAINT api_keys_bundle_ids_not_empty CHECK (cardinality(bundle_ids) > 0 AND array_position(bundle_ids, NULL) IS NULL),
    CONSTRAINT api_keys_environments_are_known CHECK (cardinality(environments) > 0 AND environments <@ ARRAY['Production', 'Sandbox']),
    CONSTRAINT api_keys_verbs_are_known CHECK (cardinality(verbs) > 0 AND verbs <@ ARRAY[
        'orders:create', 'transactions:submit', 'events:read', 'entitlements:read', 'subscriptions:read', 'contracts:link'])
);

-- Keeps the hash of a key that the caller has made up, and returns the key's number.
CREATE FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments text[], verbs text[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_key integer;
BEGIN
    INSERT INTO appstore.api_keys AS k (name, key_hash, bundle_ids, environments, verbs)
    VALUES (make_api_key.name, make_api_key.key_hash, make_api_key.bundle_ids, make_api_key.environments, make_api_key.verbs)
    RETURNING k.key_id INTO v_key;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'make_api_key', '{}', make_api_key.name,
            jsonb_build_object('key_id', v_key, 'bundle_ids', make_api_key.bundle_ids, 'environments', make_api_key.environments,
                               'verbs', make_api_key.verbs));
    RETURN v_key;
END
$$;

-- From its commit on the key opens nothing. Returns false when it was revoked before.
CREATE FUNCTION appstore.revoke_api_key(key_id integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.api_keys AS k SET revoked_at = clock_timestamp() WHERE k.key_id = revoke_api_key.key_id AND k.revoked_at IS NULL;
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT FROM appstore.api_keys AS k WHERE k.key_id = revoke_api_key.key_id) THEN
            RAISE EXCEPTION 'there is no key %', key_id USING ERRCODE = 'no_data_found';
        END IF;
        RETURN false;
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
    VALUES (clock_timestamp(), session_user, 'revoke_api_key', '{}', jsonb_build_object('key_id', revoke_api_key.key_id));
    RETURN true;
END
$$;

-- The scopes of the key with that hash; no row when there is none or when it is revoked.
CREATE FUNCTION appstore.api_key(key_hash bytea)
RETURNS TABLE (key_id integer, bundle_ids text[], environments text[], verbs text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_hour timestamptz := date_trunc('hour', clock_timestamp());
BEGIN
    RETURN QUERY
    SELECT k.key_id, k.bundle_ids, k.environments, k.verbs
    FROM appstore.api_keys AS k WHERE k.key_hash = api_key.key_hash AND k.revoked_at IS NULL;
    -- Once an hour; who finds the row locked leaves it to the other.
    UPDATE appstore.api_keys AS used SET last_used_at = v_hour
    WHERE used.key_id = (
        SELECT k.key_id FROM appstore.api_keys AS k
        WHERE k.key_hash = api_key.key_hash AND k.revoked_at IS NULL AND (k.last_used_at < v_hour OR k.last_used_at IS NULL)
        FOR UPDATE SKIP LOCKED);
END
$$;

-- Makes a Production order as create_order does, and says whether it was 'made', was there with the 'same' words, or with others:
-- 'conflict', and then nothing else.
CREATE FUNCTION appstore.api_create_order(user_id text, product_id text, no uuid, bundle_id text)
RETURNS TABLE (result text, order_no uuid, status text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_no    uuid := coalesce($3, gen_random_uuid());
    v_known appstore.orders;
BEGIN
    -- The lock of create_order: nobody makes the order between the look at it and the call.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
    SELECT * INTO v_known FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no AND o.ordered_at IS NOT NULL;
    IF v_known.no IS NULL THEN
        PERFORM appstore.create_order($1, $2, v_no, $4);
        RETURN QUERY SELECT 'made', o.no, o.status FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no;
    ELSIF (v_known.user_id, v_known.product_id, v_known.bundle_id) IS DISTINCT FROM ($1, $2, $4) THEN
        RETURN QUERY SELECT 'conflict', v_no, NULL::text;
    ELSE
        RETURN QUERY SELECT 'same', v_no, v_known.status;
    END IF;
END
$$;

-- Stores what a client posts after a purchase, for the worker, and returns its event id.
CREATE FUNCTION appstore.submit_transaction(body bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_transaction', clock_timestamp(), submit_transaction.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id
$$;

-- What became of an event that a client posted; no row for events of other sources. The submission comes only when it is asked for, since
-- who waits for an outcome looks often.
CREATE FUNCTION appstore.api_event(event_id bigint, with_submission boolean)
RETURNS TABLE (received_at timestamptz, settled_at timestamptz, outcome text, reason text, environment text, bundle_id text,
               transaction_id text, original_transaction_id text, submission bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(o.received_at, i.received_at), o.settled_at, o.result, o.reason, o.environment, o.bundle_id, o.transaction_id,
           o.original_transaction_id, CASE WHEN api_event.with_submission THEN i.body END
    FROM (SELECT api_event.event_id) AS asked
    LEFT JOIN appstore.inbox AS i ON i.event_id = asked.event_id
    LEFT JOIN appstore.outcomes AS o ON o.event_id = asked.event_id
    WHERE coalesce(o.source, i.source) = 'client_transaction'
$$;

-- What a user may use now, and may use no more. ends_at is null for what does not end. Null bundle_ids stand for any app. Not
-- clock_timestamp(): entitlements_at is not inlined with a volatile argument, and would read the contracts of all users.
CREATE FUNCTION appstore.api_entitlements(environment text, user_id text, bundle_ids text[])
RETURNS TABLE (product_id text, entitlement text, active boolean, ends_at timestamptz, why text, in_grace boolean, will_renew boolean,
               original_transaction_id text, bundle_id text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT e.product_id, e.entitlement, e.active, CASE WHEN isfinite(e.until) THEN e.until END, e.why, e.in_grace, e.will_renew,
           e.original_transaction_id, e.bundle_id
    FROM appstore.entitlements_at(statement_timestamp()) AS e
    WHERE e.environment = api_entitlements.environment AND e.user_id = api_entitlements.user_id
      AND (api_entitlements.bundle_ids IS NULL OR e.bundle_id = ANY (api_entitlements.bundle_ids))
    ORDER BY e.entitlement COLLATE "C", e.original_transaction_id COLLATE "C", e.product_id COLLATE "C";
END
$$;

-- A contract as the books have it. active is null where only the table of products knows: for non-renewing subscriptions.
CREATE FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[])
RETURNS TABLE (user_id text, bundle_id text, product_id text, product_type text, status integer, active boolean, ends_at timestamptz,
               will_renew boolean, renews_as text, expiration_intent integer, in_billing_retry boolean, grace_ends_at timestamptz,
               started_at timestamptz, period_started_at timestamptz, period_ends_at timestamptz, revoked_at timestamptz,
               transaction_id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, clock_timestamp() < m.access_until,
           CASE WHEN isfinite(m.access_until) THEN m.access_until END, m.will_renew, s.auto_renew_product_id, s.expiration_intent,
           s.is_in_billing_retry_period, s.grace_period_expires_date, m.started_at, m.current_period_start, m.current_period_end,
           m.revoked_at, m.current_transaction_id
    FROM appstore.member_contracts AS m
    LEFT JOIN appstore.subscriptions AS s ON s.environment = m.environment AND s.original_transaction_id = m.contract_id
    WHERE m.environment = api_subscription.environment AND m.contract_id = api_subscription.original_transaction_id
      AND (api_subscription.bundle_ids IS NULL OR m.bundle_id = ANY (api_subscription.bundle_ids))
$$;

-- Says whose a contract is from now on, as link_owner does; false when no purchase of the contract, by one of these apps, is known.
CREATE FUNCTION appstore.api_link_owner(environment text, original_transaction_id text, user_id text, bundle_ids text[], key_id integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF bundle_ids IS NOT NULL AND NOT EXISTS (
        SELECT FROM appstore.transactions AS t
        WHERE t.environment = api_link_owner.environment AND t.original_transaction_id = api_link_owner.original_transaction_id
          AND t.bundle_id = ANY (api_link_owner.bundle_ids)) THEN
        RETURN false;
    END IF;
    PERFORM appstore.link_owner(api_link_owner.environment, api_link_owner.original_transaction_id, api_link_owner.user_id,
                                'by the shop, key ' || api_link_owner.key_id);
    RETURN true;
EXCEPTION WHEN no_data_found THEN
    RETURN false;
END
$$;

REVOKE EXECUTE ON FUNCTION appstore.make_api_key(bytea, text, text[], text[], text[]), appstore.revoke_api_key(integer),
    appstore.api_key(bytea), appstore.api_create_order(text, text, uuid, text), appstore.submit_transaction(bytea),
    appstore.api_event(bigint, boolean), appstore.api_entitlements(text, text, text[]), appstore.api_subscription(text, text, text[]),
    appstore.api_link_owner(text, text, text, text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.make_api_key(bytea, text, text[], text[], text[]), appstore.revoke_api_key(integer)
    TO appstore_operator;
-- The hash is nobody's business.
GRANT SELECT (key_id, name, bundle_ids, environments, verbs, created_at, revoked_at, last_used_at) ON appstore.api_keys
    TO appstore_operator, appstore_viewer;
GRANT EXECUTE ON FUNCTION appstore.api_key(bytea), appstore.api_create_order(text, text, uuid, text),
    appstore.submit_transaction(bytea), appstore.api_event(bigint, boolean), appstore.api_entitlements(text, text, text[]),
    appstore.api_subscription(text, text, text[]), appstore.api_link_owner(text, text, text, text[], integer) TO appstore_api;
