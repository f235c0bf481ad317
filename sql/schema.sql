-- The schema that the migrations make, dumped by PostgreSQL 15. Written by deploy/schema --write, compared by deploy/test.

CREATE SCHEMA appstore;

ALTER SCHEMA appstore OWNER TO appstore_owner;

CREATE TYPE appstore.contract_key AS (
	environment text,
	id text
);

ALTER TYPE appstore.contract_key OWNER TO appstore_owner;

CREATE DOMAIN appstore.environment AS text
	CONSTRAINT environment_check CHECK ((VALUE = ANY (ARRAY['Production'::text, 'Sandbox'::text])));

ALTER DOMAIN appstore.environment OWNER TO appstore_owner;

CREATE TYPE appstore.repair_filter AS (
	outcome text,
	reason text,
	notification_type text,
	subtype text,
	environment text,
	bundle_id text,
	received_from timestamp with time zone,
	received_before timestamp with time zone
);

ALTER TYPE appstore.repair_filter OWNER TO appstore_owner;

CREATE TABLE appstore.legacy_renewals (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL,
    bundle_id text NOT NULL,
    provenance text NOT NULL,
    product_id text,
    auto_renew_product_id text,
    auto_renew_status integer,
    is_in_billing_retry_period boolean,
    expiration_intent integer,
    grace_period_expires_date timestamp with time zone,
    price_increase_status integer,
    promotional_offer_id text,
    offer_code_ref_name text,
    stated_at timestamp with time zone NOT NULL,
    fact_hash bytea NOT NULL,
    CONSTRAINT legacy_renewals_provenance_is_known CHECK ((provenance = ANY (ARRAY['v1'::text, 'verify_receipt'::text])))
)
WITH (fillfactor='80');

ALTER TABLE appstore.legacy_renewals OWNER TO appstore_owner;

CREATE TABLE appstore.subscriptions (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL,
    status integer,
    product_id text,
    auto_renew_product_id text,
    auto_renew_status integer,
    expiration_intent integer,
    is_in_billing_retry_period boolean,
    price_increase_status integer,
    grace_period_expires_date timestamp with time zone,
    renewal_date timestamp with time zone,
    renewal_price bigint,
    currency text,
    offer_type integer,
    offer_identifier text,
    offer_discount_type text,
    offer_period text,
    eligible_win_back_offer_ids jsonb,
    recent_subscription_start_date timestamp with time zone,
    app_account_token uuid,
    app_transaction_id text,
    renewal_billing_plan_type text,
    signed_date timestamp with time zone NOT NULL,
    fact_hash bytea NOT NULL
)
WITH (fillfactor='80');

ALTER TABLE appstore.subscriptions OWNER TO appstore_owner;

CREATE TABLE appstore.transactions (
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL,
    original_transaction_id text NOT NULL,
    web_order_line_item_id text,
    bundle_id text NOT NULL,
    product_id text NOT NULL,
    product_type text,
    subscription_group_identifier text,
    purchase_date timestamp with time zone NOT NULL,
    original_purchase_date timestamp with time zone,
    expires_date timestamp with time zone,
    quantity integer,
    app_account_token uuid,
    in_app_ownership_type text,
    revocation_date timestamp with time zone,
    revocation_reason integer,
    revocation_type text,
    revocation_percentage integer,
    is_upgraded boolean,
    offer_type integer,
    offer_identifier text,
    offer_discount_type text,
    offer_period text,
    storefront text,
    storefront_id text,
    transaction_reason text,
    currency text,
    price bigint,
    app_transaction_id text,
    billing_plan_type text,
    signed_date timestamp with time zone,
    payload_hash bytea,
    first_signed_date timestamp with time zone NOT NULL,
    first_token uuid,
    first_token_signed_date timestamp with time zone,
    first_token_hash bytea,
    period_no uuid NOT NULL,
    is_subscription boolean NOT NULL,
    is_purchased boolean GENERATED ALWAYS AS ((in_app_ownership_type IS DISTINCT FROM 'FAMILY_SHARED'::text)) STORED NOT NULL,
    order_no uuid,
    named_no uuid,
    confers_access boolean GENERATED ALWAYS AS ((is_subscription OR COALESCE((product_type = ANY (ARRAY['Non-Consumable'::text, 'Non-Renewing Subscription'::text])), false))) STORED NOT NULL,
    receipt_date timestamp with time zone,
    receipt_hash bytea,
    receipt_expires_date timestamp with time zone,
    receipt_revocation_date timestamp with time zone,
    receipt_revocation_reason integer,
    receipt_is_upgraded boolean,
    left_contract text,
    CONSTRAINT transactions_first_not_after_last CHECK ((first_signed_date <= GREATEST(signed_date, receipt_date))),
    CONSTRAINT transactions_first_token_whole CHECK ((((first_token IS NULL) = (first_token_signed_date IS NULL)) AND ((first_token IS NULL) = (first_token_hash IS NULL)))),
    CONSTRAINT transactions_jws_half_whole CHECK (((signed_date IS NULL) = (payload_hash IS NULL))),
    CONSTRAINT transactions_receipt_half_whole CHECK ((((receipt_date IS NULL) = (receipt_hash IS NULL)) AND ((receipt_date IS NOT NULL) OR ((receipt_expires_date IS NULL) AND (receipt_revocation_date IS NULL) AND (receipt_revocation_reason IS NULL) AND (receipt_is_upgraded IS NULL))))),
    CONSTRAINT transactions_said_by_somebody CHECK (((signed_date IS NOT NULL) OR (receipt_date IS NOT NULL)))
)
WITH (fillfactor='90');

ALTER TABLE appstore.transactions OWNER TO appstore_owner;

CREATE FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions, l appstore.legacy_renewals) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT greatest(
        CASE
            WHEN NOT c.is_subscription THEN
                CASE WHEN c.confers_access
                     THEN coalesce(c.revocation_date, CASE WHEN c.product_type = 'Non-Consumable' THEN timestamptz 'infinity' END) END
            WHEN c.revocation_date IS NOT NULL
                 AND (s.signed_date IS NULL OR greatest(c.signed_date, c.receipt_date) > s.signed_date) THEN c.revocation_date
            WHEN s.signed_date >= c.first_signed_date AND s.status = 1 THEN greatest(c.expires_date, s.renewal_date)
            WHEN s.signed_date >= c.first_signed_date AND s.status = 4 THEN coalesce(s.grace_period_expires_date, c.expires_date)
            WHEN s.signed_date >= c.first_signed_date AND s.status IN (2, 3, 5)
                THEN least(coalesce(c.revocation_date, c.expires_date), s.signed_date)
            ELSE coalesce(c.revocation_date, c.expires_date)
        END,
        CASE WHEN c.is_subscription AND c.revocation_date IS NULL AND l.is_in_billing_retry_period
                  AND l.grace_period_expires_date <= c.expires_date + interval '30 days' AND appstore.legacy_counts(s, l)
                  AND NOT (coalesce(s.signed_date >= c.first_signed_date, false) AND coalesce(s.status = 5, false))
             THEN l.grace_period_expires_date END)
$$;

ALTER FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions, l appstore.legacy_renewals) OWNER TO appstore_owner;

CREATE FUNCTION appstore.age(walk text) RETURNS TABLE(looked bigint, deleted bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_batch     CONSTANT integer := 500;
    v_of_junk   boolean := age.walk IN ('rejected_bodies', 'rejected_outcomes');
    v_of_bodies boolean := age.walk IN ('rejected_bodies', 'default_bodies');
    v_cutoff    timestamptz;
    v_walk      appstore.retention_walks;
    v_looked    bigint;
    v_is_over   boolean;
    v_ids       bigint[];
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN;
    END IF;
    SELECT w.* INTO v_walk FROM appstore.retention_walks AS w WHERE w.walk = age.walk;
    IF v_walk.walk IS NULL THEN
        RAISE EXCEPTION 'there is no walk %', quote_nullable(age.walk) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT clock_timestamp() - CASE age.walk WHEN 'rejected_bodies' THEN r.rejected_bodies WHEN 'rejected_outcomes' THEN r.rejected_outcomes
                                             WHEN 'default_bodies' THEN r.bodies WHEN 'outcomes' THEN r.outcomes END
    INTO v_cutoff FROM appstore.retention AS r;
    IF v_cutoff IS NULL THEN
        RETURN; -- for ever
    END IF;

    -- 1. The next rows of the walk. Junk is walked by the time of its outcome, and a requeued event gets a new one: there is no way back.
    --    The other walks begin anew when they come to what was received lately.
    IF v_of_junk THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), false, coalesce(max(next.settled_at), v_walk.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_walk.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.settled_at, v_walk.event_id
        FROM (
            SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
            WHERE o.result = 'rejected' AND o.settled_at < v_cutoff
              AND o.settled_at >= v_walk.settled_at AND (o.settled_at, o.event_id) > (v_walk.settled_at, v_walk.event_id)
            ORDER BY o.settled_at, o.event_id LIMIT c_batch
        ) AS next;
    ELSIF v_of_bodies THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), bool_and(next.received_at >= v_cutoff), max(next.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.event_id
        FROM (
            SELECT i.event_id, i.received_at FROM appstore.inbox_default AS i
            WHERE i.event_id > v_walk.event_id ORDER BY i.event_id LIMIT c_batch
        ) AS next;
    ELSE
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), bool_and(next.received_at >= v_cutoff), max(next.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.event_id
        FROM (
            SELECT o.event_id, o.received_at FROM appstore.outcomes AS o
            WHERE o.event_id > v_walk.event_id ORDER BY o.event_id LIMIT c_batch
        ) AS next;
    END IF;
    IF v_looked = 0 OR v_is_over THEN
        v_looked := 0;
        v_walk.event_id := CASE WHEN v_of_junk THEN v_walk.event_id ELSE 0 END;
    END IF;

    -- 2. Those that have aged. An outcome that is locked here cannot be requeued before the end.
    v_ids := ARRAY(
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (v_ids) AND o.settled_at < v_cutoff AND (NOT v_of_junk OR appstore.is_junk(o))
          AND (age.walk <> 'outcomes' OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.event_id FOR UPDATE);
    IF v_of_junk OR v_of_bodies THEN
        DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_ids);
    END IF;
    IF NOT v_of_bodies THEN
        DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
        DELETE FROM appstore.event_contracts AS e WHERE e.event_id = ANY (v_ids);
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);
    END IF;
    UPDATE appstore.retention_walks AS w SET settled_at = v_walk.settled_at, event_id = v_walk.event_id WHERE w.walk = age.walk;
    RETURN QUERY SELECT v_looked, cardinality(v_ids)::bigint;
END
$$;

ALTER FUNCTION appstore.age(walk text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.age_calls() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_awaited  bigint[];
    v_given_up bigint;
    v_deleted  bigint;
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN 0;
    END IF;
    v_awaited := ARRAY(SELECT c.call_id FROM appstore.outbox AS c
                       WHERE c.state = 'open' AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
                         AND c.asked_at < statement_timestamp() - interval '1 minute'
                       ORDER BY c.asked_at, c.call_id LIMIT 500 FOR UPDATE SKIP LOCKED);
    PERFORM appstore.fall_back(v_awaited);
    UPDATE appstore.outbox AS c
    SET state = 'given_up', reason = 'no_worker', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state = 'open' AND old.deadline_at < statement_timestamp() - interval '1 hour'
                                   AND old.run_at < statement_timestamp() - interval '1 hour'
                                 ORDER BY old.deadline_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_given_up = ROW_COUNT;
    DELETE FROM appstore.outbox AS c
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state <> 'open' AND old.settled_at < statement_timestamp() - interval '30 days'
                                 ORDER BY old.settled_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    RETURN cardinality(v_awaited) + v_given_up + v_deleted;
END
$$;

ALTER FUNCTION appstore.age_calls() OWNER TO appstore_owner;

CREATE FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_kind  text;
    v_event bigint;
BEGIN
    IF source IS DISTINCT FROM 'verify_receipt' THEN
        RAISE EXCEPTION 'source % is no answer to a call', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT c.kind INTO v_kind FROM appstore.outbox AS c
    WHERE c.call_id = answer_call.call_id AND c.epoch = answer_call.epoch AND (c.state = 'open') IS TRUE AND c.is_leased FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    ELSIF v_kind <> source THEN
        RAISE EXCEPTION 'a call of kind % has no answer of source %', v_kind, source USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES (answer_call.source, clock_timestamp(), answer_call.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id INTO v_event;
    UPDATE appstore.outbox AS c
    SET state = 'answered', settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1, last_reason = NULL, repeats = 0,
        answer_event_id = v_event
    WHERE c.call_id = answer_call.call_id;
    RETURN v_event;
END
$$;

ALTER FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_create_order(user_id text, product_id text, no uuid, bundle_id text) RETURNS TABLE(result text, order_no uuid, status text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
#variable_conflict use_column
DECLARE
    v_no    uuid := coalesce($3, gen_random_uuid());
    v_known appstore.orders;
BEGIN
    -- Nobody makes the order between the look at it and the call.
    PERFORM appstore.lock_for_order(v_no);
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
$_$;

ALTER FUNCTION appstore.api_create_order(user_id text, product_id text, no uuid, bundle_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_entitlements(environment text, user_id text, bundle_ids text[]) RETURNS TABLE(product_id text, entitlement text, active boolean, ends_at timestamp with time zone, why text, in_grace boolean, will_renew boolean, original_transaction_id text, bundle_id text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
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

ALTER FUNCTION appstore.api_entitlements(environment text, user_id text, bundle_ids text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_event(event_id bigint, with_submission boolean) RETURNS TABLE(received_at timestamp with time zone, settled_at timestamp with time zone, outcome text, reason text, environment text, bundle_id text, transaction_id text, original_transaction_id text, submission bytea)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(o.received_at, i.received_at), o.settled_at, o.result, o.reason, o.environment, o.bundle_id, o.transaction_id,
           o.original_transaction_id, CASE WHEN api_event.with_submission THEN i.body END
    FROM (SELECT api_event.event_id) AS asked
    LEFT JOIN appstore.inbox AS i ON i.event_id = asked.event_id
    LEFT JOIN appstore.outcomes AS o ON o.event_id = asked.event_id
    WHERE coalesce(o.source, i.source) IN ('client_transaction', 'client_receipt')
$$;

ALTER FUNCTION appstore.api_event(event_id bigint, with_submission boolean) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_key(key_hash bytea) RETURNS TABLE(key_id integer, bundle_ids text[], environments text[], verbs text[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION appstore.api_key(key_hash bytea) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_link_owner(environment text, original_transaction_id text, user_id text, bundle_ids text[], key_id integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION appstore.api_link_owner(environment text, original_transaction_id text, user_id text, bundle_ids text[], key_id integer) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_receipt_charges(environment text, transaction_ids text[], user_id text, bundle_ids text[]) RETURNS TABLE(transaction_id text, original_transaction_id text, product_id text, owner text, may_finish boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.product_id,
           CASE WHEN owner.user_id IS NULL THEN 'nobody' WHEN owner.user_id = api_receipt_charges.user_id THEN 'you' ELSE 'another' END,
           owner.user_id IS NOT NULL
    FROM unnest(api_receipt_charges.transaction_ids) WITH ORDINALITY AS asked (id, position)
    CROSS JOIN LATERAL (
        SELECT t.transaction_id, t.original_transaction_id, t.product_id, t.order_no, t.bundle_id FROM appstore.transactions AS t
        WHERE t.transaction_id = asked.id AND t.environment = api_receipt_charges.environment OFFSET 0
    ) AS t
    LEFT JOIN LATERAL (
        SELECT o.user_id FROM appstore.orders AS o WHERE o.no = t.order_no AND o.environment = api_receipt_charges.environment OFFSET 0
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT m.user_id FROM appstore.member_contracts AS m
        WHERE m.contract_id = t.original_transaction_id AND m.environment = api_receipt_charges.environment OFFSET 0
    ) AS m ON true
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE api_receipt_charges.bundle_ids IS NULL OR t.bundle_id = ANY (api_receipt_charges.bundle_ids)
    ORDER BY asked.position
$$;

ALTER FUNCTION appstore.api_receipt_charges(environment text, transaction_ids text[], user_id text, bundle_ids text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_receipt_question(call_key text) RETURNS TABLE(is_open boolean, denied_because text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE WHEN coalesce(c.fallback_event_id, c.answer_event_id) IS NOT NULL
                THEN NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id IN (c.answer_event_id, c.fallback_event_id))
                ELSE c.state = 'open' END,
           CASE WHEN c.state = 'refused' AND c.fallback_event_id IS NULL THEN c.reason END
    FROM appstore.outbox AS c
    WHERE c.call_key = api_receipt_question.call_key AND c.kind = 'verify_receipt'
    ORDER BY c.call_id DESC
    LIMIT 1
$$;

ALTER FUNCTION appstore.api_receipt_question(call_key text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[]) RETURNS TABLE(user_id text, bundle_id text, product_id text, product_type text, status integer, active boolean, ends_at timestamp with time zone, will_renew boolean, renews_as text, expiration_intent integer, in_billing_retry boolean, grace_ends_at timestamp with time zone, started_at timestamp with time zone, period_started_at timestamp with time zone, period_ends_at timestamp with time zone, revoked_at timestamp with time zone, transaction_id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, clock_timestamp() < m.access_until,
           CASE WHEN isfinite(m.access_until) THEN m.access_until END, m.will_renew,
           CASE WHEN legacy THEN l.auto_renew_product_id ELSE s.auto_renew_product_id END,
           CASE WHEN legacy THEN l.expiration_intent ELSE s.expiration_intent END,
           CASE WHEN legacy THEN l.is_in_billing_retry_period ELSE s.is_in_billing_retry_period END,
           CASE WHEN legacy THEN l.grace_period_expires_date ELSE s.grace_period_expires_date END, m.started_at, m.current_period_start, m.current_period_end,
           m.revoked_at, m.current_transaction_id
    FROM appstore.member_contracts AS m
    LEFT JOIN appstore.subscriptions AS s ON s.environment = m.environment AND s.original_transaction_id = m.contract_id
    LEFT JOIN LATERAL (
        SELECT r.* FROM appstore.legacy_renewals AS r
        WHERE r.original_transaction_id = m.contract_id AND r.environment = m.environment AND r.bundle_id = m.bundle_id OFFSET 0
    ) AS l ON true
    CROSS JOIN LATERAL appstore.legacy_counts(s, l) AS legacy
    WHERE m.environment = api_subscription.environment AND m.contract_id = api_subscription.original_transaction_id
      AND (api_subscription.bundle_ids IS NULL OR m.bundle_id = ANY (api_subscription.bundle_ids))
$$;

ALTER FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.begin_to_store() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_current_xact_id();
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;

ALTER FUNCTION appstore.begin_to_store() OWNER TO appstore_owner;

CREATE FUNCTION appstore.books_concerned(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) RETURNS TABLE(tokens uuid[], unsure uuid[], periods uuid[], contracts text[], claimed text[], bare text[])
    LANGUAGE sql STABLE ROWS 1
    AS $$
    WITH charge AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.period_no, t.first_token, t.named_no, t.order_no, t.app_account_token, t.is_purchased, t.confers_access,
                   t.original_transaction_id, t.left_contract
            FROM appstore.transactions AS t WHERE t.transaction_id = moved.id AND t.environment = p_environment OFFSET 0
        ) AS found
    ), moved AS MATERIALIZED (
        -- 1. The periods of the charges, now and when the books were last derived.
        SELECT charge.period_no AS no FROM charge
        UNION
        SELECT before.period_no
        FROM charge CROSS JOIN LATERAL (
            SELECT o.period_no FROM appstore.orders AS o WHERE o.no = charge.order_no AND o.environment = p_environment OFFSET 0
        ) AS before
        WHERE charge.order_no <> charge.period_no AND before.period_no IS NOT NULL
    ), named AS MATERIALIZED (
        -- 2. The orders that the charges name, named when the books were last derived, or pay together with another charge.
        SELECT unnest(p_tokens) AS no
        UNION
        SELECT named.no
        FROM charge CROSS JOIN LATERAL (VALUES (charge.first_token), (charge.named_no), (charge.app_account_token)) AS named (no)
        WHERE named.no IS NOT NULL AND (charge.is_purchased OR named.no = charge.named_no)
        UNION
        SELECT paid.no
        FROM charge CROSS JOIN LATERAL (
            SELECT o.no FROM appstore.orders AS o WHERE o.period_no = charge.period_no AND o.environment = p_environment OFFSET 0
        ) AS paid
        WHERE paid.no <> charge.period_no
    ), unsure AS MATERIALIZED (
        -- 3. Those that are not simply paid as before, by a period that did not move.
        SELECT named.no, ordered.period_no AS paid_before, payer.period_no AS paid_now
        FROM named
        LEFT JOIN LATERAL (
            SELECT o.period_no FROM appstore.orders AS o WHERE o.no = named.no AND o.environment = p_environment OFFSET 0
        ) AS ordered ON true
        LEFT JOIN LATERAL appstore.payer(p_environment, named.no) AS payer ON true
        WHERE ordered.period_no IS NULL OR ordered.period_no IS DISTINCT FROM payer.period_no
           OR ordered.period_no IN (SELECT moved.no FROM moved) OR named.no = ANY (p_tokens)
    ), elsewhere AS MATERIALIZED (
        -- 4. The periods that paid those orders or pay them now, and those of charges that name an order of this number later, and so claim
        --    their contract; with their contracts.
        SELECT period.no, found.original_transaction_id, found.confers_access
        FROM (
            SELECT unsure.paid_before AS no FROM unsure WHERE unsure.paid_before IS NOT NULL
            UNION
            SELECT unsure.paid_now FROM unsure WHERE unsure.paid_now IS NOT NULL
            UNION
            SELECT moved.no FROM moved WHERE moved.no NOT IN (SELECT charge.period_no FROM charge)
            UNION
            SELECT later.period_no
            FROM unnest(p_tokens) AS made (no) CROSS JOIN LATERAL (
                SELECT t.period_no FROM appstore.transactions AS t
                WHERE t.app_account_token = made.no AND t.environment = p_environment AND t.app_account_token <> t.first_token OFFSET 0
            ) AS later
        ) AS period
        LEFT JOIN LATERAL (
            SELECT t.original_transaction_id, t.confers_access FROM appstore.transactions AS t
            WHERE t.period_no = period.no AND t.environment = p_environment OFFSET 0
        ) AS found ON true
    ), contract AS MATERIALIZED (
        -- 5. The contracts. A consumable has none, unless somebody said whose it is; one that a charge has left is looked at without it.
        SELECT unnest(p_contract_ids || p_renewals) AS id
        UNION
        SELECT found.id
        FROM (SELECT charge.original_transaction_id, charge.confers_access FROM charge
              UNION
              SELECT charge.left_contract, false FROM charge WHERE charge.left_contract IS NOT NULL
              UNION
              SELECT elsewhere.original_transaction_id, elsewhere.confers_access FROM elsewhere) AS found (id, confers_access)
        WHERE found.confers_access
           OR EXISTS (SELECT FROM appstore.member_contracts AS m WHERE m.contract_id = found.id AND m.environment = p_environment OFFSET 0)
    ), claimed AS (
        -- 6. A charge says something of claims when it has no token, or another one than before; all that has to do with an order is
        --    anew with it. Claims by clients and by later tokens hang on more than that.
        SELECT unnest(p_contract_ids) AS id
        UNION
        SELECT charge.original_transaction_id FROM charge
        WHERE charge.first_token IS NULL
           OR charge.named_no IS DISTINCT FROM CASE WHEN charge.is_purchased THEN charge.first_token END
           OR charge.app_account_token <> charge.first_token
        UNION
        SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL
        UNION
        SELECT elsewhere.original_transaction_id FROM elsewhere WHERE elsewhere.original_transaction_id IS NOT NULL
        UNION
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.claims AS c
            WHERE c.original_transaction_id = charge.original_transaction_id AND c.environment = p_environment
              AND (c.evidence LIKE 'client:%' OR c.evidence LIKE 'token:%') LIMIT 1
        ) AS delicate
        UNION
        -- A posted receipt hangs on all charges of its contract.
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.receipt_submissions AS r
            WHERE r.original_transaction_id = charge.original_transaction_id AND r.environment = p_environment LIMIT 1
        ) AS posted
    )
    SELECT ARRAY(SELECT named.no FROM named ORDER BY named.no),
           ARRAY(SELECT unsure.no FROM unsure ORDER BY unsure.no),
           ARRAY(SELECT moved.no FROM moved UNION SELECT elsewhere.no FROM elsewhere ORDER BY no),
           ARRAY(SELECT contract.id FROM contract ORDER BY contract.id),
           ARRAY(SELECT claimed.id FROM claimed ORDER BY claimed.id),
           -- 7. Contracts that may be none any more.
           ARRAY(SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL
                 UNION
                 SELECT charge.original_transaction_id FROM charge WHERE NOT charge.confers_access)
$$;

ALTER FUNCTION appstore.books_concerned(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.books_named(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) RETURNS TABLE(tokens uuid[], contracts text[])
    LANGUAGE sql STABLE ROWS 1
    AS $$
    WITH charge AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id, t.left_contract, t.first_token, t.named_no, t.app_account_token, t.is_purchased,
                   t.confers_access
            FROM appstore.transactions AS t WHERE t.transaction_id = moved.id AND t.environment = p_environment OFFSET 0
        ) AS found
    )
    SELECT ARRAY(SELECT unnest(p_tokens) AS no
                 UNION
                 SELECT named.no
                 FROM charge CROSS JOIN LATERAL (VALUES (charge.first_token), (charge.named_no), (charge.app_account_token)) AS named (no)
                 WHERE named.no IS NOT NULL AND (charge.is_purchased OR named.no = charge.named_no)
                 ORDER BY no),
           ARRAY(SELECT unnest(p_contract_ids) AS id
                 UNION
                 SELECT charge.original_transaction_id FROM charge WHERE charge.confers_access
                 UNION
                 SELECT found.id
                 FROM (SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL
                       UNION
                       SELECT charge.original_transaction_id FROM charge WHERE NOT charge.confers_access) AS found (id)
                 WHERE EXISTS (SELECT FROM appstore.member_contracts AS m
                               WHERE m.contract_id = found.id AND m.environment = p_environment OFFSET 0)
                 ORDER BY id)
$$;

ALTER FUNCTION appstore.books_named(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) OWNER TO appstore_owner;

CREATE TABLE appstore.repairs (
    repair_id bigint NOT NULL,
    action text NOT NULL,
    filter jsonb NOT NULL,
    note text,
    requested_at timestamp with time zone NOT NULL,
    requested_by text NOT NULL,
    events_expected bigint NOT NULL,
    last_event_id bigint NOT NULL,
    state text DEFAULT 'requested'::text NOT NULL,
    walked_to bigint DEFAULT 0 NOT NULL,
    events_repaired bigint DEFAULT 0 NOT NULL,
    steps integer DEFAULT 0 NOT NULL,
    started_at timestamp with time zone,
    next_step_at timestamp with time zone NOT NULL,
    pace interval DEFAULT '00:00:01'::interval NOT NULL,
    finished_at timestamp with time zone,
    stopped_by text,
    failures integer DEFAULT 0 NOT NULL,
    error text,
    due_from timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT repairs_action_is_known CHECK ((action = ANY (ARRAY['requeue'::text, 'discard'::text]))),
    CONSTRAINT repairs_discard_says_why CHECK (((action <> 'discard'::text) OR (btrim(note) <> ''::text))),
    CONSTRAINT repairs_failed_with_error CHECK (((state <> 'failed'::text) OR (error IS NOT NULL))),
    CONSTRAINT repairs_finished_when_over CHECK (((state = ANY (ARRAY['done'::text, 'stopped'::text, 'failed'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT repairs_state_is_known CHECK ((state = ANY (ARRAY['requested'::text, 'running'::text, 'done'::text, 'stopped'::text, 'failed'::text]))),
    CONSTRAINT repairs_stopped_by_somebody CHECK (((state = 'stopped'::text) = (stopped_by IS NOT NULL)))
);

ALTER TABLE appstore.repairs OWNER TO appstore_owner;

CREATE FUNCTION appstore.carry_on_repair(r appstore.repairs) RETURNS appstore.repairs
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_step    CONSTANT integer := 1000;
    c_look    CONSTANT integer := 20000;   -- outcomes that one step looks at
    v_now     timestamptz := clock_timestamp();
    v_filter  appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, r.filter);
    v_due     bigint;
    v_first   timestamptz;
    v_found   bigint[];
    v_last    bigint;   -- the last one that was looked at; null when there are no more
    v_done    bigint[];
    v_spread  interval := '0';
BEGIN
    r.started_at := coalesce(r.started_at, v_now);
    r.state := 'running';
    IF r.action = 'requeue' THEN
        SELECT count(*), min(due.run_at) INTO v_due, v_first
        FROM (SELECT d.run_at FROM appstore.inbox_ready AS d WHERE d.run_at >= r.due_from AND d.run_at <= v_now
              ORDER BY d.run_at, d.event_id LIMIT c_step) AS due;
        r.due_from := greatest(r.due_from, least(v_first, v_now - interval '10 seconds'));
        IF v_due >= c_step THEN
            r.pace := least(r.pace * 1.5, interval '10 seconds');
            r.next_step_at := v_now + r.pace / 4;
            RETURN r;
        END IF;
        r.pace := CASE WHEN v_due < 100 THEN greatest(r.pace * 0.8, interval '100 milliseconds')
                       ELSE least(r.pace * 1.25, interval '10 seconds') END;
    END IF;

    WITH found AS MATERIALIZED (
        SELECT ARRAY(
            SELECT looked.event_id
            FROM (
                SELECT o.event_id,
                       o.settled_at < r.requested_at AND appstore.fits(o, v_filter)
                           AND CASE r.action WHEN 'discard' THEN o.result IN ('failed', 'rejected', 'unhandled')
                                    ELSE EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0) END AS fits
                FROM appstore.outcomes AS o
                WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
                ORDER BY o.event_id LIMIT c_look
            ) AS looked
            WHERE looked.fits LIMIT c_step) AS event_ids
    )
    SELECT found.event_ids,
           CASE WHEN cardinality(found.event_ids) = c_step THEN found.event_ids[c_step]
                ELSE (SELECT o.event_id FROM appstore.outcomes AS o
                      WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
                      ORDER BY o.event_id LIMIT 1 OFFSET c_look - 1) END
    INTO v_found, v_last
    FROM found;

    IF cardinality(v_found) > 0 AND r.action = 'requeue' THEN
        v_spread := r.pace * (cardinality(v_found)::double precision / c_step);
        v_done := appstore.put_back(v_found, r.requested_at, r.requested_by, v_spread);
    ELSIF cardinality(v_found) > 0 THEN
        v_done := appstore.discard_settled(v_found, r.requested_at, r.requested_by, r.note);
    END IF;
    IF cardinality(v_done) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
        VALUES (clock_timestamp(), r.requested_by, r.action, '{}',
                jsonb_build_object('repair_id', r.repair_id, 'events', cardinality(v_done), 'first', v_done[1],
                                   'last', v_done[cardinality(v_done)]));
    END IF;

    -- An outcome that came in between is younger than the request: the walk may pass it.
    r.walked_to := coalesce(v_last, r.last_event_id);
    r.events_repaired := r.events_repaired + coalesce(cardinality(v_done), 0);
    r.steps := r.steps + 1;
    r.next_step_at := clock_timestamp() + v_spread;
    IF v_last IS NULL THEN
        r.state := 'done';
        r.finished_at := clock_timestamp();
    END IF;
    RETURN r;
END
$$;

ALTER FUNCTION appstore.carry_on_repair(r appstore.repairs) OWNER TO appstore_owner;

CREATE FUNCTION appstore.chain_link(digest bytea, line text) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
    RETURN sha256(digest || convert_to(line, 'UTF8'));
END
$$;

ALTER FUNCTION appstore.chain_link(digest bytea, line text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.claims_of(p_environment text, p_contract text) RETURNS TABLE(evidence text, user_id text, effective_at timestamp with time zone)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    WITH stated AS (
        -- 1. A user's order was paid by one of its periods.
        SELECT 'order:' || paid.no AS evidence, paid.user_id, paid.paid_at AS effective_at
        FROM (
            SELECT o.no, o.user_id, o.paid_at FROM appstore.orders AS o
            WHERE o.origin_no = p_contract AND o.environment = p_environment AND o.no <> o.period_no OFFSET 0
        ) AS paid
        WHERE paid.user_id IS NOT NULL
        UNION ALL
        -- 2. A charge was given another token later, which is an order of the shop's (made in Production, whatever names it): it pays
        --    nothing, but says whose the contract is.
        SELECT 'token:' || t.transaction_id, ordered.user_id, t.purchase_date
        FROM appstore.transactions AS t
        CROSS JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o
            WHERE o.no = t.app_account_token AND o.environment = 'Production' AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS ordered
        WHERE t.environment = p_environment AND t.original_transaction_id = p_contract AND t.app_account_token <> t.first_token
          AND t.is_purchased
        UNION ALL
        -- 3. An operator or the shop said so.
        SELECT 'link:' || lpad((extract(epoch FROM l.linked_at) * 1000000)::bigint::text, 20, '0'), l.user_id, l.linked_at
        FROM appstore.owner_links AS l
        WHERE l.environment = p_environment AND l.original_transaction_id = p_contract
        UNION ALL
        -- 4. Somebody's app posted a receipt soon after a purchase and named that as the one just made, before anybody else did. It moves
        --    the contract. What Apple renewed by itself was made in nobody's app: the JWS says so, or it begins when another period ends.
        (SELECT DISTINCT ON (s.transaction_id) 'receipt:' || s.transaction_id, s.user_id, charge.purchase_date
         FROM appstore.receipt_submissions AS s
         CROSS JOIN LATERAL (
             SELECT t.purchase_date, t.original_transaction_id FROM appstore.transactions AS t
             WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL
               AND t.transaction_reason IS DISTINCT FROM 'RENEWAL' OFFSET 0
         ) AS charge
         WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND s.transaction_id <> ''
           AND charge.original_transaction_id = p_contract
           AND s.received_at <= charge.purchase_date + interval '72 hours'
           AND NOT EXISTS (SELECT FROM appstore.transactions AS before
                           WHERE before.original_transaction_id = p_contract AND before.environment = p_environment
                             AND before.transaction_id <> s.transaction_id
                             AND date_trunc('second', before.expires_date) = date_trunc('second', charge.purchase_date))
         ORDER BY s.transaction_id, s.received_at, s.event_id)
    ), posted AS (
    -- 5. Somebody posted a charge without token as his, soon after its purchase and before all others; it never overrides another claim,
    --    for what Apple signed proves the purchase, not who holds it.
    SELECT 'client:' || s.transaction_id AS evidence, s.user_id, charge.purchase_date AS effective_at, s.received_at, s.event_id
     FROM appstore.submissions AS s
     CROSS JOIN LATERAL (
         SELECT t.purchase_date, t.original_transaction_id FROM appstore.transactions AS t
         WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL OFFSET 0
     ) AS charge
     WHERE s.environment = p_environment AND s.original_transaction_id = p_contract AND charge.original_transaction_id = p_contract
       AND s.received_at <= charge.purchase_date + interval '72 hours'
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= charge.purchase_date)
    UNION ALL
    -- 6. Somebody's app posted a receipt with the contract in it, however old, while it was nobody's: a purchase that was restored.
    SELECT 'restored:' || p_contract, s.user_id, s.received_at, s.received_at, s.event_id
     FROM appstore.receipt_submissions AS s
     WHERE s.original_transaction_id = p_contract AND s.environment = p_environment
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= s.received_at)
    )
    SELECT stated.evidence, stated.user_id, stated.effective_at FROM stated
    UNION ALL
    -- Of all posts that nothing stronger stands against the one received first.
    (SELECT posted.evidence, posted.user_id, posted.effective_at FROM posted ORDER BY posted.received_at, posted.event_id LIMIT 1)
$$;

ALTER FUNCTION appstore.claims_of(p_environment text, p_contract text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.consumption_answered(environment text, transaction_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT EXISTS (SELECT FROM appstore.refund_statements AS r
                      WHERE r.environment = consumption_answered.environment AND r.transaction_id = consumption_answered.transaction_id
                        AND r.kind = 'asked') THEN
        RAISE EXCEPTION 'Apple has not asked about transaction % in %', quote_nullable(transaction_id), environment
            USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.consumption_answers (environment, transaction_id, answered_at, actor)
    VALUES (consumption_answered.environment, consumption_answered.transaction_id, v_now, session_user);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
    VALUES (v_now, session_user, 'consumption_answered', '{}',
            jsonb_build_object('environment', consumption_answered.environment, 'transaction_id', consumption_answered.transaction_id));
END
$$;

ALTER FUNCTION appstore.consumption_answered(environment text, transaction_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.contracts_of(user_id text) RETURNS TABLE(environment text, id text, is_his boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    WITH his AS (
        SELECT k.environment, k.original_transaction_id AS id FROM appstore.claims AS k WHERE k.user_id = contracts_of.user_id
        UNION ALL
        SELECT l.environment, l.original_transaction_id FROM appstore.owner_links AS l WHERE l.user_id = contracts_of.user_id
        UNION ALL
        SELECT m.environment, m.contract_id FROM appstore.member_contracts AS m WHERE m.user_id = contracts_of.user_id
        UNION ALL
        SELECT o.environment, o.origin_no FROM appstore.orders AS o WHERE o.user_id = contracts_of.user_id AND o.origin_no IS NOT NULL
        UNION ALL -- a charge names his order, and pays another one, or none
        SELECT o.environment, t.original_transaction_id
        FROM appstore.orders AS o
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.first_token = o.no AND t.environment = o.environment OFFSET 0
        ) AS t
        WHERE o.user_id = contracts_of.user_id AND o.no IS DISTINCT FROM o.period_no
        UNION ALL
        SELECT o.environment, t.original_transaction_id
        FROM appstore.orders AS o
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.app_account_token = o.no AND t.environment = o.environment AND t.app_account_token <> t.first_token OFFSET 0
        ) AS t
        WHERE o.user_id = contracts_of.user_id AND o.no IS DISTINCT FROM o.period_no
    )
    SELECT c.environment, c.id, bool_or(c.is_his)
    FROM (
        SELECT his.environment::text, his.id, true FROM his
        UNION ALL
        SELECT s.environment, s.original_transaction_id, false FROM appstore.submissions AS s WHERE s.user_id = contracts_of.user_id
        UNION ALL
        SELECT r.environment, r.original_transaction_id, false FROM appstore.receipt_submissions AS r
        WHERE r.user_id = contracts_of.user_id
    ) AS c (environment, id, is_his)
    GROUP BY c.environment, c.id
$$;

ALTER FUNCTION appstore.contracts_of(user_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint DEFAULT NULL::bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_filter appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, filter);
BEGIN
    IF max_events IS NOT NULL THEN
        RETURN (SELECT count(*) FROM appstore.find_repair(action, filter, max_events::integer));
    ELSIF action = 'discard' THEN
        RETURN (SELECT count(*) FROM appstore.outcomes AS o
                WHERE o.result IN ('failed', 'rejected', 'unhandled') AND appstore.fits(o, v_filter));
    END IF;
    RETURN (SELECT count(*) FROM appstore.outcomes AS o
            WHERE appstore.fits(o, v_filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0));
END
$$;

ALTER FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint) OWNER TO appstore_owner;

CREATE FUNCTION appstore.create_order(user_id text, product_id text, no uuid DEFAULT gen_random_uuid(), bundle_id text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_no   uuid := coalesce(create_order.no, gen_random_uuid());
    v_made appstore.orders;
BEGIN
    IF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF product_id IS NULL OR octet_length(product_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'product_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(bundle_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'bundle_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    PERFORM appstore.lock_for_order(v_no);
    INSERT INTO appstore.orders AS o (environment, no, user_id, product_id, bundle_id, ordered_at)
    VALUES ('Production', v_no, create_order.user_id, create_order.product_id, create_order.bundle_id, clock_timestamp())
    ON CONFLICT (environment, no) DO UPDATE
    SET user_id = excluded.user_id, product_id = excluded.product_id, bundle_id = excluded.bundle_id, ordered_at = excluded.ordered_at
    WHERE o.ordered_at IS NULL AND o.no IS DISTINCT FROM o.period_no;

    SELECT * INTO v_made FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no;
    IF v_made.no = v_made.period_no THEN
        RAISE EXCEPTION 'order % is of a period that Apple charged without being asked', v_no USING ERRCODE = 'unique_violation';
    ELSIF (v_made.user_id, v_made.product_id, v_made.bundle_id)
          IS DISTINCT FROM (create_order.user_id, create_order.product_id, create_order.bundle_id) THEN
        RAISE EXCEPTION 'order % was made for another user, product or bundle', v_no USING ERRCODE = 'unique_violation';
    END IF;
    PERFORM appstore.derive_books('Production', '{}', '{}', ARRAY[v_no]);

    UPDATE appstore.orders AS twin
    SET user_id = v_made.user_id, product_id = v_made.product_id, bundle_id = v_made.bundle_id, ordered_at = v_made.ordered_at
    WHERE twin.environment = 'Sandbox' AND twin.no = v_no AND twin.no IS DISTINCT FROM twin.period_no;
    IF FOUND OR EXISTS (SELECT FROM appstore.transactions AS t
                        WHERE t.environment = 'Sandbox' AND t.app_account_token = v_no AND t.app_account_token <> t.first_token) THEN
        PERFORM appstore.derive_books('Sandbox', '{}', '{}', ARRAY[v_no]);
    END IF;
    RETURN v_no;
END
$$;

ALTER FUNCTION appstore.create_order(user_id text, product_id text, no uuid, bundle_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_events bigint[] := ARRAY(
        SELECT unnest(delete_bodies.posts)
        UNION
        SELECT o.event_id
        FROM unnest(delete_bodies.contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.original_transaction_id = c.id AND o.environment = c.environment OFFSET 0
        ) AS o
        UNION -- one of several contracts that the event is about
        SELECT e.event_id
        FROM unnest(delete_bodies.contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT e.event_id FROM appstore.event_contracts AS e
            WHERE e.original_transaction_id = c.id AND e.environment = c.environment OFFSET 0
        ) AS e);
    v_calls   bigint[];
    v_answers bigint[];
BEGIN
    -- Calls of those bodies. One that somebody else asked for, too, is made of his body from now on, and its answer is his. The others have
    -- nothing to send any more; what was answered to them, and what spoke in an answer's place, are bodies themselves.
    v_calls := ARRAY(
        SELECT c.call_id FROM appstore.outbox AS c WHERE c.event_id = ANY (v_events) ORDER BY c.call_id FOR UPDATE);
    UPDATE appstore.outbox AS c SET event_id = heir.event_id
    FROM unnest(v_calls) AS call (id)
    CROSS JOIN LATERAL (
        SELECT min(i.event_id) AS event_id
        FROM appstore.outbox AS asked JOIN appstore.inbox AS i ON i.event_id = ANY (asked.asked_by)
        WHERE asked.call_id = call.id AND i.event_id <> ALL (v_events)
    ) AS heir
    WHERE c.call_id = call.id AND heir.event_id IS NOT NULL;
    UPDATE appstore.outbox AS c SET state = 'discarded', reason = 'forgotten', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND (c.state = 'open') IS TRUE; -- found by its id
    v_answers := ARRAY(SELECT spoken.event_id
                       FROM appstore.outbox AS c CROSS JOIN LATERAL unnest(ARRAY[c.answer_event_id, c.fallback_event_id]) AS spoken (event_id)
                       WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND spoken.event_id IS NOT NULL);
    PERFORM appstore.end_posts(v_answers); -- those that wait
    v_events := v_events || v_answers;
    v_events := ARRAY( -- a locked outcome cannot be requeued
        SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_events) ORDER BY o.event_id FOR UPDATE);
    v_events := ARRAY(SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events) ORDER BY i.event_id);
    DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events);
    RETURN v_events;
END
$$;

ALTER FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.demand_read_committed() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'what others commit meanwhile must be seen: call this in READ COMMITTED, not in %',
            upper(current_setting('transaction_isolation')) USING ERRCODE = 'invalid_transaction_state';
    END IF;
END
$$;

ALTER FUNCTION appstore.demand_read_committed() OWNER TO appstore_owner;

CREATE FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[] DEFAULT '{}'::uuid[], p_renewals text[] DEFAULT '{}'::text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_tokens           uuid[];         -- orders that are looked at
    v_unsure           uuid[];         -- those that may be paid otherwise
    v_periods          uuid[];         -- periods whose order may be another
    v_contracts        text[];         -- contracts that may look different
    v_claimed          text[];         -- contracts, and consumables, whose claims may be others
    v_bare             text[];         -- contracts that may be none
    v_reclaimed        text[] := '{}'; -- those whose claims are others
    v_locked_tokens    uuid[] := '{}';
    v_locked_contracts text[] := '{}';
    v_moved            tid[];          -- charges whose order is another
    v_foreign          tid[];          -- those of them that are not this transaction's
    v_had              bigint;
BEGIN
    -- 1. Lock what is concerned, until a look behind the locks finds nothing new.
    SELECT named.tokens, named.contracts INTO v_tokens, v_contracts
    FROM appstore.books_named(p_environment, p_transaction_ids, p_contract_ids || p_renewals, p_tokens) AS named;
    LOOP
        PERFORM appstore.lock_books(p_environment, v_tokens, v_contracts);
        v_locked_tokens := v_locked_tokens || v_tokens;
        v_locked_contracts := v_locked_contracts || v_contracts;
        SELECT concerned.tokens, concerned.unsure, concerned.periods, concerned.contracts, concerned.claimed, concerned.bare
        INTO v_tokens, v_unsure, v_periods, v_contracts, v_claimed, v_bare
        FROM appstore.books_concerned(p_environment, p_transaction_ids, p_contract_ids, p_tokens, p_renewals) AS concerned;
        EXIT WHEN NOT EXISTS (SELECT unnest(v_tokens) EXCEPT SELECT unnest(v_locked_tokens))
              AND NOT EXISTS (SELECT unnest(v_contracts) EXCEPT SELECT unnest(v_locked_contracts));
    END LOOP;

    IF cardinality(v_unsure) > 0 THEN
        -- 2. Orders by token: what pays them. One that neither the shop made nor any first token names is none, nor is a twin: its only
        --    token turned out to be a later one.
        DELETE FROM appstore.orders AS unmade
        WHERE unmade.ctid = ANY (ARRAY(
            SELECT known.ctid
            FROM unnest(v_unsure) AS token (no) CROSS JOIN LATERAL (
                SELECT o.ctid FROM appstore.orders AS o
                WHERE o.no = token.no AND o.environment = p_environment AND (o.ordered_at IS NULL OR p_environment = 'Sandbox')
                  AND o.no IS DISTINCT FROM o.period_no OFFSET 0
            ) AS known
            WHERE NOT EXISTS (SELECT FROM appstore.transactions AS t
                              WHERE t.first_token = token.no AND t.environment = p_environment AND t.is_purchased OFFSET 0)));
        INSERT INTO appstore.orders AS o (environment, no, status, reason, period_no, trade_no, origin_no, web_order_line_item_id,
                                          paid_product_id, paid_at, quantity, price, currency)
        SELECT p_environment, token.no, coalesce(paid.status, 'pending'),
               CASE WHEN payer.period_no IS NULL AND EXISTS (
                        SELECT FROM appstore.transactions AS t
                        WHERE t.first_token = token.no AND t.environment = p_environment AND t.is_purchased OFFSET 0)
                    THEN 'product_mismatch' END,
               payer.period_no, paid.trade_no, paid.origin_no, paid.web_order_line_item_id, paid.product_id, paid.paid_at, paid.quantity,
               paid.price, paid.currency
        FROM unnest(v_unsure) AS token (no)
        LEFT JOIN LATERAL appstore.payer(p_environment, token.no) AS payer ON true
        LEFT JOIN LATERAL appstore.paid_period(p_environment, payer.period_no) AS paid ON true
        WHERE EXISTS (SELECT FROM appstore.orders AS known WHERE known.no = token.no AND known.environment = p_environment OFFSET 0)
        ORDER BY token.no
        ON CONFLICT (no, environment) DO UPDATE
        SET status = excluded.status, reason = excluded.reason, period_no = excluded.period_no, trade_no = excluded.trade_no,
            origin_no = excluded.origin_no, web_order_line_item_id = excluded.web_order_line_item_id,
            paid_product_id = excluded.paid_product_id, paid_at = excluded.paid_at, quantity = excluded.quantity, price = excluded.price,
            currency = excluded.currency
        WHERE (o.status, o.reason, o.period_no, o.trade_no, o.origin_no, o.web_order_line_item_id, o.paid_product_id, o.paid_at,
               o.quantity, o.price, o.currency)
              IS DISTINCT FROM
              (excluded.status, excluded.reason, excluded.period_no, excluded.trade_no, excluded.origin_no,
               excluded.web_order_line_item_id, excluded.paid_product_id, excluded.paid_at, excluded.quantity, excluded.price,
               excluded.currency);
    END IF;

    -- 3. Claims, anew where they may be others.
    IF cardinality(v_claimed) > 0 THEN
        WITH wanted AS MATERIALIZED (
            SELECT claimed.id AS contract_id, c.evidence, c.user_id, c.effective_at
            FROM unnest(v_claimed) AS claimed (id) CROSS JOIN LATERAL appstore.claims_of(p_environment, claimed.id) AS c
        ), made AS (
            INSERT INTO appstore.claims AS c (environment, original_transaction_id, evidence, user_id, effective_at)
            SELECT p_environment, wanted.contract_id, wanted.evidence, wanted.user_id, wanted.effective_at
            FROM wanted
            WHERE NOT EXISTS (
                SELECT FROM appstore.claims AS same
                WHERE same.original_transaction_id = wanted.contract_id AND same.environment = p_environment
                  AND same.evidence = wanted.evidence AND (same.user_id, same.effective_at) = (wanted.user_id, wanted.effective_at) OFFSET 0)
            ORDER BY wanted.contract_id, wanted.evidence
            ON CONFLICT (original_transaction_id, environment, evidence) DO UPDATE
            SET user_id = excluded.user_id, effective_at = excluded.effective_at
            RETURNING c.original_transaction_id
        ), dropped AS (
            DELETE FROM appstore.claims AS c
            WHERE c.ctid = ANY (ARRAY(
                SELECT known.ctid
                FROM unnest(v_claimed) AS claimed (id) CROSS JOIN LATERAL (
                    SELECT made_before.ctid, made_before.evidence FROM appstore.claims AS made_before
                    WHERE made_before.original_transaction_id = claimed.id AND made_before.environment = p_environment OFFSET 0
                ) AS known
                WHERE NOT EXISTS (SELECT FROM wanted WHERE wanted.contract_id = claimed.id AND wanted.evidence = known.evidence OFFSET 0)))
            RETURNING c.original_transaction_id
        )
        SELECT coalesce(array_agg(DISTINCT changed.original_transaction_id), '{}') INTO v_reclaimed
        FROM (TABLE made UNION ALL TABLE dropped) AS changed;
    END IF;

    IF cardinality(v_periods) > 0 THEN
        -- 4. Every paid period that no token pays has an order under its own number, and only those. It is the user's who owned the
        --    contract then.
        INSERT INTO appstore.orders AS o (environment, no, user_id, status, period_no, trade_no, origin_no, web_order_line_item_id,
                                          paid_product_id, paid_at, quantity, price, currency)
        SELECT p_environment, period.no, owner.user_id, paid.status, period.no, paid.trade_no, paid.origin_no,
               paid.web_order_line_item_id, paid.product_id, paid.paid_at, paid.quantity, paid.price, paid.currency
        FROM unnest(v_periods) AS period (no)
        CROSS JOIN LATERAL appstore.paid_period(p_environment, period.no) AS paid
        LEFT JOIN LATERAL appstore.period_user(p_environment, paid.origin_no, paid.paid_at) AS owner ON true
        WHERE NOT EXISTS (
            SELECT FROM appstore.orders AS by_token
            WHERE by_token.period_no = period.no AND by_token.environment = p_environment AND by_token.no <> period.no OFFSET 0)
        ORDER BY period.no
        ON CONFLICT (no, environment) DO UPDATE
        SET user_id = excluded.user_id, status = excluded.status, trade_no = excluded.trade_no, origin_no = excluded.origin_no,
            web_order_line_item_id = excluded.web_order_line_item_id, paid_product_id = excluded.paid_product_id,
            paid_at = excluded.paid_at, quantity = excluded.quantity, price = excluded.price, currency = excluded.currency
        WHERE (o.user_id, o.status, o.trade_no, o.origin_no, o.web_order_line_item_id, o.paid_product_id, o.paid_at, o.quantity, o.price,
               o.currency)
              IS DISTINCT FROM
              (excluded.user_id, excluded.status, excluded.trade_no, excluded.origin_no, excluded.web_order_line_item_id,
               excluded.paid_product_id, excluded.paid_at, excluded.quantity, excluded.price, excluded.currency);
        DELETE FROM appstore.orders AS needless
        WHERE needless.ctid = ANY (ARRAY(
            SELECT known.ctid
            FROM unnest(v_periods) AS period (no) CROSS JOIN LATERAL (
                SELECT o.ctid FROM appstore.orders AS o
                WHERE o.no = period.no AND o.environment = p_environment AND o.period_no = period.no OFFSET 0
            ) AS known
            WHERE EXISTS (SELECT FROM appstore.orders AS by_token
                          WHERE by_token.period_no = period.no AND by_token.environment = p_environment AND by_token.no <> period.no
                          OFFSET 0)
               OR NOT EXISTS (SELECT FROM appstore.transactions AS t
                              WHERE t.period_no = period.no AND t.environment = p_environment AND t.is_purchased OFFSET 0)));

        -- 5. Each charge points to its order: the one its own first token names, else the one that its period paid. Who holds a charge that
        --    is not among ours is about to wait for the contract, which is locked here: to wait for him would be in vain.
        SELECT coalesce(array_agg(charge.ctid), '{}'),
               coalesce(array_agg(charge.ctid) FILTER (WHERE mine.id IS NULL), '{}')
        INTO v_moved, v_foreign
        FROM unnest(v_periods) AS period (no) CROSS JOIN LATERAL (
            SELECT known.ctid, known.transaction_id, known.first_token, known.is_purchased, known.order_no, known.named_no
            FROM appstore.transactions AS known WHERE known.period_no = period.no AND known.environment = p_environment OFFSET 0
        ) AS charge
        LEFT JOIN unnest(p_transaction_ids) AS mine (id) ON mine.id = charge.transaction_id
        WHERE charge.named_no IS DISTINCT FROM CASE WHEN charge.is_purchased THEN charge.first_token END
           OR charge.order_no IS DISTINCT FROM (
                  SELECT o.no FROM appstore.orders AS o
                  WHERE o.period_no = period.no AND o.environment = p_environment AND charge.is_purchased
                  ORDER BY o.no IS NOT DISTINCT FROM charge.first_token DESC, o.no LIMIT 1);
        IF cardinality(v_foreign) > 0 THEN
            PERFORM FROM appstore.transactions AS t WHERE t.ctid = ANY (v_foreign) FOR UPDATE SKIP LOCKED;
            GET DIAGNOSTICS v_had = ROW_COUNT;
            IF v_had < cardinality(v_foreign) THEN
                RAISE EXCEPTION 'a charge of a contract that is locked here is held by another transaction'
                    USING ERRCODE = 'deadlock_detected', HINT = 'Repeat the transaction.';
            END IF;
        END IF;
        IF cardinality(v_moved) > 0 THEN
            UPDATE appstore.transactions AS t
            SET order_no = (SELECT o.no FROM appstore.orders AS o
                            WHERE o.period_no = t.period_no AND o.environment = p_environment AND t.is_purchased
                            ORDER BY o.no IS NOT DISTINCT FROM t.first_token DESC, o.no LIMIT 1),
                named_no = CASE WHEN t.is_purchased THEN t.first_token END
            WHERE t.ctid = ANY (v_moved);
        END IF;
    END IF;

    IF cardinality(v_reclaimed) > 0 THEN
        -- 6. The users of all periods of a contract whose claims are others.
        UPDATE appstore.orders AS o
        SET user_id = (SELECT owner.user_id FROM appstore.period_user(p_environment, o.origin_no, o.paid_at) AS owner)
        WHERE o.ctid = ANY (ARRAY(
            SELECT by_period.ctid
            FROM unnest(v_reclaimed) AS reclaimed (id) CROSS JOIN LATERAL (
                SELECT known.ctid, known.user_id, known.paid_at FROM appstore.orders AS known
                WHERE known.origin_no = reclaimed.id AND known.environment = p_environment AND known.no = known.period_no OFFSET 0
            ) AS by_period
            WHERE by_period.user_id IS DISTINCT FROM
                  (SELECT owner.user_id FROM appstore.period_user(p_environment, reclaimed.id, by_period.paid_at) AS owner)));
    END IF;

    IF cardinality(v_contracts) > 0 THEN
        -- 7. The contracts: owner, current charge, access. A revoked current period falls back to the newest unrevoked one that ended when
        --    it began: a refund of a renewal charged ahead does not end the time that was paid for.
        INSERT INTO appstore.member_contracts AS m (
            environment, contract_id, user_id, bundle_id, product_id, product_type, status, will_renew, started_at, current_transaction_id,
            current_period_start, current_period_end, revoked_at, access_until)
        SELECT p_environment, contract.id, owner.user_id, (current.charge).bundle_id,
               coalesce((current.charge).product_id, (renewal.register).product_id),
               (current.charge).product_type,
               appstore.renewal_status(renewal.register, legacy.register),
               CASE WHEN appstore.legacy_counts(renewal.register, legacy.register) THEN (legacy.register).auto_renew_status
                    ELSE (renewal.register).auto_renew_status END = 1,
               first.purchase_date, (current.charge).transaction_id,
               (current.charge).purchase_date, (current.charge).expires_date, (current.charge).revocation_date,
               greatest(
                   appstore.access_until(current.charge, renewal.register, legacy.register),
                   CASE WHEN (current.charge).revocation_date IS NOT NULL AND (current.charge).is_subscription THEN (
                       SELECT max(t.expires_date) FROM appstore.transactions AS t
                       WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
                         AND t.revocation_date IS NULL AND t.expires_date <= (current.charge).purchase_date)
                   END)
        FROM unnest(v_contracts) AS contract (id)
        LEFT JOIN LATERAL (
            SELECT t AS charge FROM appstore.transactions AS t
            WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
            ORDER BY t.purchase_date DESC, t.expires_date DESC NULLS LAST, length(t.transaction_id) DESC, t.transaction_id COLLATE "C" DESC
            LIMIT 1
        ) AS current ON true
        LEFT JOIN LATERAL (
            SELECT t.purchase_date FROM appstore.transactions AS t
            WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
            ORDER BY t.purchase_date, t.expires_date NULLS FIRST, length(t.transaction_id), t.transaction_id COLLATE "C"
            LIMIT 1
        ) AS first ON true
        LEFT JOIN LATERAL (
            SELECT s AS register FROM appstore.subscriptions AS s
            WHERE s.original_transaction_id = contract.id AND s.environment = p_environment OFFSET 0
        ) AS renewal ON true
        LEFT JOIN LATERAL (
            SELECT l AS register FROM appstore.legacy_renewals AS l
            WHERE l.original_transaction_id = contract.id AND l.environment = p_environment
              AND l.bundle_id = (current.charge).bundle_id OFFSET 0
        ) AS legacy ON true
        LEFT JOIN LATERAL (
            SELECT c.user_id FROM appstore.claims AS c
            WHERE c.original_transaction_id = contract.id AND c.environment = p_environment
            ORDER BY c.effective_at DESC, c.evidence COLLATE "C" DESC LIMIT 1
        ) AS owner ON true
        ORDER BY contract.id
        ON CONFLICT (contract_id, environment) DO UPDATE
        SET user_id = excluded.user_id, bundle_id = excluded.bundle_id, product_id = excluded.product_id,
            product_type = excluded.product_type, status = excluded.status, will_renew = excluded.will_renew,
            started_at = excluded.started_at, current_transaction_id = excluded.current_transaction_id,
            current_period_start = excluded.current_period_start, current_period_end = excluded.current_period_end,
            revoked_at = excluded.revoked_at, access_until = excluded.access_until
        WHERE (m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, m.will_renew, m.started_at, m.current_transaction_id,
               m.current_period_start, m.current_period_end, m.revoked_at, m.access_until)
              IS DISTINCT FROM
              (excluded.user_id, excluded.bundle_id, excluded.product_id, excluded.product_type, excluded.status, excluded.will_renew,
               excluded.started_at, excluded.current_transaction_id, excluded.current_period_start, excluded.current_period_end,
               excluded.revoked_at, excluded.access_until);
    END IF;

    IF cardinality(v_bare) > 0 THEN
        -- 8. What no charge makes a contract any more, and nobody else speaks of, is none.
        DELETE FROM appstore.member_contracts AS needless
        WHERE needless.ctid = ANY (ARRAY(
            SELECT known.ctid
            FROM unnest(v_bare) AS contract (id) CROSS JOIN LATERAL (
                SELECT m.ctid FROM appstore.member_contracts AS m
                WHERE m.contract_id = contract.id AND m.environment = p_environment OFFSET 0
            ) AS known
            WHERE NOT EXISTS (SELECT FROM appstore.transactions AS t
                              WHERE t.original_transaction_id = contract.id AND t.environment = p_environment AND t.confers_access OFFSET 0)
              AND NOT EXISTS (SELECT FROM appstore.subscriptions AS s
                              WHERE s.original_transaction_id = contract.id AND s.environment = p_environment OFFSET 0)
              AND NOT EXISTS (SELECT FROM appstore.legacy_renewals AS l
                              WHERE l.original_transaction_id = contract.id AND l.environment = p_environment OFFSET 0)
              AND NOT EXISTS (SELECT FROM appstore.submissions AS s
                              WHERE s.original_transaction_id = contract.id AND s.environment = p_environment OFFSET 0)
              AND NOT EXISTS (SELECT FROM appstore.receipt_submissions AS s
                              WHERE s.original_transaction_id = contract.id AND s.environment = p_environment OFFSET 0)
              AND NOT EXISTS (SELECT FROM appstore.owner_links AS l
                              WHERE l.original_transaction_id = contract.id AND l.environment = p_environment OFFSET 0)));
    END IF;
END
$$;

ALTER FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.discard(event_id bigint, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_attempts integer;
    v_error    text;
BEGIN
    IF reason IS NULL OR btrim(reason) = '' THEN
        RAISE EXCEPTION 'say why event % is discarded', event_id USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Waits for a worker that has it in its hands.
    DELETE FROM appstore.inbox_ready AS r WHERE r.event_id = discard.event_id RETURNING r.attempts, r.last_error INTO v_attempts, v_error;
    IF FOUND THEN
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(),
               1 + coalesce((SELECT max(h.run) FROM appstore.outcome_history AS h WHERE h.event_id = discard.event_id), 0),
               v_attempts, 'discarded', discard.reason, v_error
        FROM appstore.inbox AS i WHERE i.event_id = discard.event_id;
    ELSIF cardinality(appstore.discard_settled(ARRAY[discard.event_id], 'infinity', session_user::text, discard.reason)) = 0 THEN
        RAISE EXCEPTION 'event % is neither waiting nor failed, rejected or unhandled', event_id USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
    VALUES (clock_timestamp(), session_user, 'discard', ARRAY[discard.event_id], discard.reason);
END
$$;

ALTER FUNCTION appstore.discard(event_id bigint, reason text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.discard(why text, outcome text DEFAULT NULL::text, reason text DEFAULT NULL::text, notification_type text DEFAULT NULL::text, subtype text DEFAULT NULL::text, environment text DEFAULT NULL::text, bundle_id text DEFAULT NULL::text, received_from timestamp with time zone DEFAULT NULL::timestamp with time zone, received_before timestamp with time zone DEFAULT NULL::timestamp with time zone, max_events integer DEFAULT 1000, dry_run boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_json   jsonb := appstore.repair_conditions(outcome, reason, notification_type, subtype, environment, bundle_id, received_from,
                                                 received_before);
    v_events bigint[];
    v_repair bigint;
BEGIN
    IF coalesce(btrim(why), '') = '' THEN
        RAISE EXCEPTION 'say why the events are discarded' USING ERRCODE = 'invalid_parameter_value';
    ELSIF max_events NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000, or null for all events' USING ERRCODE = 'invalid_parameter_value';
    ELSIF dry_run THEN
        RETURN appstore.count_repair('discard', v_json, max_events);
    ELSIF max_events IS NULL AND appstore.count_repair('discard', v_json, 1001) > 1000 THEN
        v_repair := appstore.request_repair('discard', v_json, why);
        RAISE NOTICE 'repair % has been requested: SELECT * FROM appstore.repairs WHERE repair_id = %', v_repair, v_repair;
        RETURN (SELECT r.events_expected FROM appstore.repairs AS r WHERE r.repair_id = v_repair);
    END IF;
    v_events := ARRAY(SELECT found.event_id FROM appstore.find_repair('discard', v_json, coalesce(max_events, 1000)) AS found (event_id));
    v_events := appstore.discard_settled(v_events, 'infinity', session_user::text, why);
    IF cardinality(v_events) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'discard', v_events, why, v_json);
    END IF;
    RETURN cardinality(v_events);
END
$$;

ALTER FUNCTION appstore.discard(why text, outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean) OWNER TO appstore_owner;

CREATE FUNCTION appstore.discard_settled(event_ids bigint[], settled_before timestamp with time zone, actor text, reason text) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_discarded bigint[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = ANY (discard_settled.event_ids) ORDER BY o.event_id FOR UPDATE
    ), fitting AS MATERIALIZED (
        SELECT locked.* FROM locked
        WHERE locked.settled_at < discard_settled.settled_before AND locked.result IN ('failed', 'rejected', 'unhandled')
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT fitting.*, clock_timestamp(), discard_settled.actor FROM fitting
    ), changed AS (
        UPDATE appstore.outcomes AS o
        SET run = o.run + 1, settled_at = clock_timestamp(), result = 'discarded', reason = discard_settled.reason
        WHERE o.event_id = ANY (ARRAY(SELECT fitting.event_id FROM fitting))
        RETURNING o.event_id
    )
    SELECT coalesce(array_agg(changed.event_id ORDER BY changed.event_id), '{}') INTO v_discarded FROM changed;
    RETURN v_discarded;
END
$$;

ALTER FUNCTION appstore.discard_settled(event_ids bigint[], settled_before timestamp with time zone, actor text, reason text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.drop_aged_partition() RETURNS TABLE(did text, partition text, kept integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_column
DECLARE
    c_piece  CONSTANT integer := 50000;
    c_keep   CONSTANT integer := 100;
    c_lately CONSTANT integer := 10000;
    v_now    timestamptz := clock_timestamp();
    v_cutoff timestamptz := coalesce((SELECT v_now - r.bodies FROM appstore.retention AS r), '-infinity');
    v_part   record;
    v_check  appstore.partition_checks;
    v_looked bigint;
    v_lowest bigint;
    v_lately bigint;  -- how many events were repaired since the look at this partition began
    v_kept   bigint[];
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN;
    END IF;
    SELECT c.relname::text AS partition INTO v_part FROM pg_class AS c
    WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'aged\_inbox\_%' LIMIT 1;
    IF FOUND THEN
        EXECUTE format('DROP TABLE appstore.%I', v_part.partition);
        RETURN QUERY SELECT 'dropped', substr(v_part.partition, 6), 0;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM appstore.repairs AS r WHERE r.state IN ('requested', 'running')) THEN
        RETURN; -- what it puts back must be looked at while nobody else can use the inbox
    END IF;
    SELECT p.partition, p.from_id, p.to_id INTO v_part
    FROM appstore.inbox_partitions AS p LEFT JOIN appstore.partition_checks AS c ON c.partition = p.partition
    WHERE p.is_past AND coalesce(c.not_before, '-infinity') <= v_now
    ORDER BY p.from_id LIMIT 1;
    IF v_part.partition IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.partition_checks AS c (partition, began_at, checked_to) VALUES (v_part.partition, v_now, v_part.to_id)
    ON CONFLICT (partition) DO UPDATE
    SET began_at = excluded.began_at, checked_to = excluded.checked_to, kept = '{}', not_before = '-infinity'
    WHERE c.not_before > '-infinity';
    SELECT c.* INTO v_check FROM appstore.partition_checks AS c WHERE c.partition = v_part.partition;

    -- 1. The next piece, from above: the youngest events, which forbid it, are found first.
    EXECUTE format(
        'SELECT count(*), min(l.event_id), coalesce(array_agg(l.event_id) FILTER (WHERE NOT l.has_aged), ''{}'') '
        'FROM (SELECT i.event_id, EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id AND o.settled_at < $1 OFFSET 0) '
        'AS has_aged FROM appstore.%I AS i WHERE i.event_id < $2 ORDER BY i.event_id DESC LIMIT $3) AS l', v_part.partition)
    INTO v_looked, v_lowest, v_kept USING v_cutoff, v_check.checked_to, c_piece;
    v_kept := v_check.kept || v_kept;
    SELECT count(*) INTO v_lately FROM (
        SELECT FROM appstore.outcome_history AS h WHERE h.replaced_at >= v_check.began_at - interval '5 minutes'
        ORDER BY h.replaced_at LIMIT c_lately) AS lately;
    IF cardinality(v_kept) > c_keep OR v_lately = c_lately THEN
        UPDATE appstore.partition_checks AS c SET not_before = v_now + interval '1 hour', kept = '{}' WHERE c.partition = v_part.partition;
        RETURN QUERY SELECT 'postponed', v_part.partition, cardinality(v_kept);
        RETURN;
    ELSIF v_looked = c_piece THEN
        UPDATE appstore.partition_checks AS c SET checked_to = v_lowest, kept = v_kept WHERE c.partition = v_part.partition;
        RETURN QUERY SELECT 'checked', v_part.partition, cardinality(v_kept);
        RETURN;
    END IF;

    -- 2. Alone with the inbox, look at what happened since the first piece: requeued events wait, or have got a young outcome.
    LOCK TABLE ONLY appstore.inbox IN ACCESS EXCLUSIVE MODE;
    v_kept := ARRAY(
        SELECT unnest(v_kept)
        UNION SELECT r.event_id FROM appstore.inbox_ready AS r WHERE r.event_id >= v_part.from_id AND r.event_id < v_part.to_id
        UNION SELECT h.event_id FROM appstore.outcome_history AS h
        WHERE h.replaced_at >= v_check.began_at - interval '5 minutes' AND h.event_id >= v_part.from_id AND h.event_id < v_part.to_id);
    DELETE FROM appstore.partition_checks AS c WHERE c.partition = v_part.partition;
    IF cardinality(v_kept) > c_keep THEN
        RETURN QUERY SELECT 'postponed', v_part.partition, cardinality(v_kept);
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE appstore.inbox DETACH PARTITION appstore.%I', v_part.partition);
    EXECUTE format('INSERT INTO appstore.inbox SELECT i.* FROM appstore.%I AS i WHERE i.event_id = ANY ($1)', v_part.partition)
    USING v_kept;
    EXECUTE format('ALTER TABLE appstore.%I RENAME TO %I', v_part.partition, 'aged_' || v_part.partition);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
    VALUES (clock_timestamp(), 'retention', 'drop_partition', '{}',
            jsonb_build_object('partition', v_part.partition, 'from', v_part.from_id, 'to', v_part.to_id, 'kept', cardinality(v_kept)));
    RETURN QUERY SELECT 'detached', v_part.partition, cardinality(v_kept);
END
$_$;

ALTER FUNCTION appstore.drop_aged_partition() OWNER TO appstore_owner;

CREATE FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    IF state IS NULL OR state NOT IN ('refused', 'given_up') THEN
        RAISE EXCEPTION 'state % is no end of a call without an answer', quote_nullable(state) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = end_call.state, reason = end_call.reason, settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1
    WHERE c.call_id = end_call.call_id AND c.epoch = end_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF falls_back THEN
        PERFORM appstore.fall_back(ARRAY[end_call.call_id]);
    END IF;
    RETURN true;
END
$$;

ALTER FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) OWNER TO appstore_owner;

CREATE FUNCTION appstore.end_posts(posts bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    LOOP
        WITH locked AS MATERIALIZED (
            SELECT r.event_id, r.attempts FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (end_posts.posts)
            ORDER BY r.event_id FOR UPDATE
        ), taken AS (
            DELETE FROM appstore.inbox_ready AS r USING locked WHERE r.event_id = locked.event_id RETURNING r.event_id, r.attempts
        )
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(),
               1 + coalesce((SELECT max(h.run) FROM appstore.outcome_history AS h WHERE h.event_id = i.event_id), 0), taken.attempts,
               'discarded', 'forgotten'
        FROM taken JOIN appstore.inbox AS i ON i.event_id = taken.event_id;
        PERFORM FROM appstore.outcomes AS o WHERE o.event_id = ANY (end_posts.posts) ORDER BY o.event_id FOR UPDATE;
        EXIT WHEN NOT EXISTS (SELECT FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (end_posts.posts));
    END LOOP;
END
$$;

ALTER FUNCTION appstore.end_posts(posts bigint[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.entitlements_at(at timestamp with time zone) RETURNS TABLE(environment text, user_id text, product_id text, entitlement text, active boolean, until timestamp with time zone, why text, in_grace boolean, will_renew boolean, original_transaction_id text, bundle_id text)
    LANGUAGE sql STABLE
    AS $$
    SELECT e.environment, e.user_id, e.product_id, e.entitlement,
           coalesce(at < e.until, false),
           e.until,
           CASE WHEN at < e.until THEN CASE WHEN at >= e.grace_from THEN 'grace_period' ELSE 'active' END ELSE e.why_ended END,
           coalesce(at >= e.grace_from AND at < e.until, false),
           e.will_renew, e.original_transaction_id, e.bundle_id
    FROM appstore.entitlement_terms AS e
    WHERE e.user_id IS NOT NULL
$$;

ALTER FUNCTION appstore.entitlements_at(at timestamp with time zone) OWNER TO appstore_owner;

CREATE FUNCTION appstore.events_not_exactly_once() RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT i.event_id FROM appstore.inbox AS i
    WHERE NOT EXISTS (SELECT FROM appstore.inbox_ready AS r WHERE r.event_id = i.event_id)
      AND NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id)
    UNION ALL
    SELECT r.event_id FROM appstore.inbox_ready AS r
    WHERE EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = r.event_id)
       OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = r.event_id)
$$;

ALTER FUNCTION appstore.events_not_exactly_once() OWNER TO appstore_owner;

CREATE FUNCTION appstore.fall_back(calls bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_call  record;
    v_event bigint;
BEGIN
    FOR v_call IN
        SELECT c.call_id, c.fallback_source, c.event_id FROM appstore.outbox AS c
        WHERE c.call_id = ANY (fall_back.calls) AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
        ORDER BY c.call_id FOR UPDATE
    LOOP
        WITH stored AS (
            INSERT INTO appstore.inbox (source, received_at, body)
            SELECT v_call.fallback_source, clock_timestamp(),
                   convert_to(json_build_object('receiptData', convert_from(i.body, 'UTF8')::json ->> 'receiptData')::text, 'UTF8')
            FROM appstore.inbox AS i WHERE i.event_id = v_call.event_id
            RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
        )
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
        RETURNING inbox_ready.event_id INTO v_event;
        UPDATE appstore.outbox AS c
        SET fallback_event_id = v_event, fallback_source = CASE WHEN v_event IS NOT NULL THEN c.fallback_source END
        WHERE c.call_id = v_call.call_id;
    END LOOP;
END
$$;

ALTER FUNCTION appstore.fall_back(calls bigint[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.fall_back_from(answers bigint[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT appstore.fall_back(ARRAY(SELECT c.call_id FROM appstore.outbox AS c WHERE c.answer_event_id = ANY (fall_back_from.answers)))
$$;

ALTER FUNCTION appstore.fall_back_from(answers bigint[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.find_repair(action text, filter jsonb, max_events integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_filter  appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, filter);
    v_results text[] := ARRAY['failed', 'rejected', 'unhandled'] || CASE WHEN action = 'requeue' THEN ARRAY['discarded'] END;
    v_result  text;
    v_left    integer := max_events;
    v_found   integer;
BEGIN
    IF action = 'requeue' AND (v_filter.outcome = ANY (v_results)) IS NOT TRUE THEN
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE appstore.fits(o, v_filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0)
        ORDER BY o.event_id LIMIT v_left;
        RETURN;
    END IF;
    FOREACH v_result IN ARRAY v_results LOOP
        CONTINUE WHEN v_filter.outcome <> v_result;
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.result = v_result AND appstore.fits(o, v_filter)
          AND (action = 'discard' OR EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.settled_at, o.event_id LIMIT v_left;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        v_left := v_left - v_found;
        EXIT WHEN v_left = 0;
    END LOOP;
END
$$;

ALTER FUNCTION appstore.find_repair(action text, filter jsonb, max_events integer) OWNER TO appstore_owner;

CREATE TABLE appstore.outcomes (
    event_id bigint NOT NULL,
    source text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone NOT NULL,
    run integer NOT NULL,
    attempts integer NOT NULL,
    result text NOT NULL,
    reason text,
    last_error text,
    notification_type text,
    subtype text,
    notification_uuid text,
    environment text,
    bundle_id text,
    transaction_id text,
    original_transaction_id text,
    CONSTRAINT outcomes_reason_where_needed CHECK (((reason IS NOT NULL) OR (result <> ALL (ARRAY['unhandled'::text, 'rejected'::text, 'failed'::text, 'discarded'::text])))),
    CONSTRAINT outcomes_result_is_known CHECK ((result = ANY (ARRAY['applied'::text, 'superseded'::text, 'no_effect'::text, 'duplicate'::text, 'unhandled'::text, 'rejected'::text, 'failed'::text, 'discarded'::text])))
);

ALTER TABLE appstore.outcomes OWNER TO appstore_owner;

CREATE FUNCTION appstore.fits(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT (f.outcome IS NULL OR o.result = f.outcome)
       AND (f.reason IS NULL OR o.reason = f.reason)
       AND (f.notification_type IS NULL OR o.notification_type = f.notification_type)
       AND (f.subtype IS NULL OR o.subtype = f.subtype)
       AND (f.environment IS NULL OR o.environment = f.environment)
       AND (f.bundle_id IS NULL OR o.bundle_id = f.bundle_id)
       AND (f.received_from IS NULL OR o.received_at >= f.received_from)
       AND (f.received_before IS NULL OR o.received_at < f.received_before)
$$;

ALTER FUNCTION appstore.fits(o appstore.outcomes, f appstore.repair_filter) OWNER TO appstore_owner;

CREATE FUNCTION appstore.forget(user_id text, note text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user      text := forget.user_id;
    v_alias     text := CASE WHEN v_user LIKE 'forgotten:%' THEN v_user ELSE 'forgotten:' || gen_random_uuid() END;
    v_words     record;
    v_posts     bigint[];
    v_contracts appstore.contract_key[];
    v_events    bigint[];
    v_renamed   record;
    v_orders    bigint := 0;
BEGIN
    IF v_user IS NULL OR octet_length(v_user) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF appstore.mentions(forget.note, v_user) THEN
        RAISE EXCEPTION 'the note must not name the user: it is kept in the audit log' USING ERRCODE = 'invalid_parameter_value';
    ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'forget must see what others commit meanwhile: call it in READ COMMITTED'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;

    -- 1. Repairs that are going on write the alias from now on. No other row is locked before everything that takes time has been found.
    UPDATE appstore.repairs AS r
    SET note = appstore.without_name(r.note, v_user, v_alias), error = appstore.without_name(r.error, v_user, v_alias),
        filter = CASE WHEN r.filter ? 'reason' THEN jsonb_set(r.filter, '{reason}', to_jsonb(
                          appstore.without_name(r.filter ->> 'reason', v_user, v_alias)))
                      ELSE r.filter END
    WHERE v_user <> v_alias
      AND (appstore.mentions(r.note, v_user) OR appstore.mentions(r.error, v_user) OR appstore.mentions(r.filter ->> 'reason', v_user));
    SELECT * INTO v_words FROM appstore.words_about(v_user);
    v_posts := ARRAY(
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
        UNION ALL
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user);

    -- 2. The queue and the outcomes. Whoever writes books has what he settles locked before; so it must be here.
    PERFORM appstore.end_posts(v_posts);
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c WHERE c.is_his);
    v_events := appstore.delete_bodies(v_posts, v_contracts);
    IF v_user <> v_alias THEN
        PERFORM appstore.rename_in_words(v_user, v_alias, v_words.audits, v_words.links, v_words.events);

        -- 3. The books, until a look behind the locks finds the name no more.
        LOOP
            SELECT * INTO v_renamed FROM appstore.rename_in_books(v_user, v_alias);
            v_orders := v_orders + v_renamed.orders;
            EXIT WHEN v_renamed.orders + v_renamed.others = 0;
        END LOOP;
    END IF;

    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'forget', v_events, forget.note,
            jsonb_build_object('alias', v_alias, 'orders', v_orders, 'contracts', cardinality(v_contracts)));
    RETURN v_alias;
END
$$;

ALTER FUNCTION appstore.forget(user_id text, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
    WITH first_due AS MATERIALIZED ( -- 1. the queue from its front; dead entries before it are passed once
        SELECT r.run_at FROM appstore.inbox_ready AS r ORDER BY r.run_at, r.event_id LIMIT 1
    ), queue AS MATERIALIZED (
        SELECT coalesce((
                   SELECT due.events FROM first_due
                   CROSS JOIN LATERAL (
                       SELECT count(*) AS events FROM (
                           SELECT FROM appstore.inbox_ready AS r
                           WHERE r.run_at >= first_due.run_at AND r.run_at <= statement_timestamp()
                           ORDER BY r.run_at, r.event_id LIMIT 10000
                       ) AS one
                   ) AS due
               ), 0) AS ready,
               (SELECT count(*) FROM (
                    SELECT FROM appstore.inbox_ready AS r WHERE r.run_at > statement_timestamp()
                    ORDER BY r.run_at, r.event_id LIMIT 10000
               ) AS one) AS waiting
    ), snapshots AS ( -- 2. who keeps dead rows
        SELECT statement_timestamp() - a.xact_start AS age, age(a.backend_xmin)::bigint AS transactions
        FROM pg_stat_activity AS a
        WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
          AND (a.datname = current_database() OR a.datname IS NULL)
        UNION ALL
        SELECT NULL, age(s.xmin)::bigint FROM pg_replication_slots AS s WHERE s.xmin IS NOT NULL
        UNION ALL
        SELECT statement_timestamp() - p.prepared, age(p.transaction)::bigint FROM pg_prepared_xacts AS p
        WHERE p.database = current_database()
    )
    SELECT q.ready, q.waiting,
           CASE WHEN q.ready < 10000 AND q.waiting < 10000 THEN q.ready + q.waiting
                ELSE greatest(q.ready + q.waiting, pg_stat_get_live_tuples('appstore.inbox_ready'::regclass)) END,
           (SELECT count(*) FROM (SELECT FROM appstore.inbox_ready AS r WHERE r.is_suspect LIMIT 10000) AS one),
           (SELECT count(*) FROM (
                SELECT FROM appstore.outcomes AS o WHERE o.result = 'failed' ORDER BY o.result, o.settled_at LIMIT 10000
           ) AS one),
           (SELECT statement_timestamp() - d.run_at FROM first_due AS d WHERE d.run_at <= statement_timestamp()),
           (SELECT statement_timestamp() - i.received_at
            FROM (SELECT r.event_id FROM appstore.inbox_ready AS r ORDER BY r.event_id LIMIT 1) AS oldest
            CROSS JOIN LATERAL (SELECT i.received_at FROM appstore.inbox AS i WHERE i.event_id = oldest.event_id OFFSET 0) AS i),
           statement_timestamp() - coalesce(
               (SELECT newest.received_at
                FROM (SELECT o.event_id, o.received_at, o.source, o.result FROM appstore.outcomes AS o
                      ORDER BY o.event_id DESC LIMIT 10000) AS newest
                WHERE newest.source LIKE 'notification%' AND newest.result NOT IN ('rejected', 'failed', 'discarded')
                ORDER BY newest.event_id DESC LIMIT 1),
               (SELECT o.received_at FROM appstore.outcomes AS o ORDER BY o.event_id DESC OFFSET 9999 LIMIT 1)),
           (SELECT count(*) FROM appstore.inbox_in_flight AS f WHERE f.lost_at IS NOT NULL),
           (SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent = 'appstore.inbox'::regclass),
           (SELECT greatest(max(s.age), interval '0') FROM snapshots AS s),
           (SELECT coalesce(max(s.transactions), 0) FROM snapshots AS s),
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
    FROM queue AS q
$$;

ALTER FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean) OWNER TO appstore_owner;

CREATE FUNCTION appstore.is_junk(o appstore.outcomes) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT o.result = 'rejected' AND o.notification_type IS NULL AND o.notification_uuid IS NULL AND o.environment IS NULL
       AND o.bundle_id IS NULL AND o.transaction_id IS NULL
$$;

ALTER FUNCTION appstore.is_junk(o appstore.outcomes) OWNER TO appstore_owner;

CREATE FUNCTION appstore.keep_house() RETURNS boolean
    LANGUAGE sql
    AS $$ SELECT pg_try_advisory_xact_lock(hashtextextended('appstore.keep_house', 0)) $$;

ALTER FUNCTION appstore.keep_house() OWNER TO appstore_owner;

CREATE FUNCTION appstore.legacy_counts(s appstore.subscriptions, l appstore.legacy_renewals) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT l.stated_at IS NOT NULL AND (s.signed_date IS NULL OR l.stated_at > s.signed_date)
$$;

ALTER FUNCTION appstore.legacy_counts(s appstore.subscriptions, l appstore.legacy_renewals) OWNER TO appstore_owner;

CREATE FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_actor text := session_user;
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.environment = link_owner.environment AND t.original_transaction_id = link_owner.original_transaction_id)
          AND NOT EXISTS (SELECT FROM appstore.subscriptions AS s
                          WHERE s.environment = link_owner.environment
                            AND s.original_transaction_id = link_owner.original_transaction_id)
          AND NOT EXISTS (SELECT FROM appstore.legacy_renewals AS r
                          WHERE r.environment = link_owner.environment
                            AND r.original_transaction_id = link_owner.original_transaction_id) THEN
        RAISE EXCEPTION 'no purchase is known in % with original_transaction_id %', environment,
            quote_nullable(original_transaction_id) USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM appstore.record_owner_link(link_owner.environment, link_owner.original_transaction_id, link_owner.user_id, clock_timestamp(),
                                       v_actor, link_owner.note);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), v_actor, 'link_owner', '{}', link_owner.note,
            jsonb_build_object('environment', link_owner.environment, 'original_transaction_id', link_owner.original_transaction_id));
END
$$;

ALTER FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.lock_books(p_environment text, p_tokens uuid[], p_contracts text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_there bigint;
BEGIN
    IF cardinality(p_tokens) > 0 THEN
        IF p_environment = 'Sandbox' THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(token.no::text, 0)) FROM unnest(p_tokens) AS token (no);
        END IF;
        FOR attempt IN 1..2 LOOP
            PERFORM FROM unnest(p_tokens) AS token (no)
            CROSS JOIN LATERAL (SELECT FROM appstore.orders AS o WHERE o.no = token.no AND o.environment = p_environment FOR UPDATE) AS locked;
            GET DIAGNOSTICS v_there = ROW_COUNT;
            EXIT WHEN attempt = 2 OR v_there = cardinality(p_tokens);
            INSERT INTO appstore.orders (environment, no, user_id, product_id, bundle_id, ordered_at)
            SELECT p_environment, token.no, ordered.user_id, ordered.product_id, ordered.bundle_id, ordered.ordered_at
            FROM unnest(p_tokens) AS token (no)
            LEFT JOIN LATERAL (
                SELECT o.user_id, o.product_id, o.bundle_id, o.ordered_at FROM appstore.orders AS o
                WHERE o.no = token.no AND o.environment = 'Production' AND p_environment = 'Sandbox' AND o.ordered_at IS NOT NULL OFFSET 0
            ) AS ordered ON true
            WHERE p_environment = 'Production'
               OR EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.first_token = token.no AND t.environment = p_environment AND t.is_purchased OFFSET 0)
            ORDER BY token.no
            ON CONFLICT (no, environment) DO NOTHING;
        END LOOP;
    END IF;
    IF cardinality(p_contracts) > 0 THEN
        FOR attempt IN 1..2 LOOP
            PERFORM FROM unnest(p_contracts) AS contract (id)
            CROSS JOIN LATERAL (
                SELECT FROM appstore.member_contracts AS m WHERE m.contract_id = contract.id AND m.environment = p_environment FOR UPDATE
            ) AS locked;
            GET DIAGNOSTICS v_there = ROW_COUNT;
            EXIT WHEN attempt = 2 OR v_there = cardinality(p_contracts);
            INSERT INTO appstore.member_contracts (environment, contract_id)
            SELECT p_environment, contract.id FROM unnest(p_contracts) AS contract (id) ORDER BY contract.id
            ON CONFLICT (contract_id, environment) DO NOTHING;
        END LOOP;
    END IF;
END
$$;

ALTER FUNCTION appstore.lock_books(p_environment text, p_tokens uuid[], p_contracts text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.lock_for_order(no uuid) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_no uuid := lock_for_order.no;
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.begin_to_store();
    PERFORM FROM appstore.transactions AS t
    WHERE t.transaction_id = ANY (ARRAY(
        SELECT naming.transaction_id FROM appstore.transactions AS naming WHERE naming.first_token = v_no
        UNION
        SELECT naming.transaction_id FROM appstore.transactions AS naming
        WHERE naming.app_account_token = v_no AND naming.app_account_token <> naming.first_token))
    ORDER BY t.environment, t.transaction_id FOR UPDATE;
    -- See lock_books: a Sandbox twin that is being inserted now must see this order, or be seen.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
END
$$;

ALTER FUNCTION appstore.lock_for_order(no uuid) OWNER TO appstore_owner;

CREATE FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments text[], verbs text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments text[], verbs text[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.mentions(said text, user_id text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(position(user_id IN said) > 0 AND said ~ appstore.name_pattern(user_id), false)
$$;

ALTER FUNCTION appstore.mentions(said text, user_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.name_pattern(user_id text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT '(?<![[:alnum:]_])' || regexp_replace(user_id, '[^[:alnum:][:space:]]', '\\\&', 'g') || '(?![[:alnum:]_])'
$$;

ALTER FUNCTION appstore.name_pattern(user_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT count(*), statement_timestamp() - min(first.asked_at)
    FROM (SELECT c.asked_at FROM appstore.outbox AS c WHERE c.state = 'open' AND c.deadline_at IS NOT NULL
          ORDER BY c.deadline_at, c.call_id LIMIT 10000) AS first
$$;

ALTER FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval) OWNER TO appstore_owner;

CREATE FUNCTION appstore.paid_period(p_environment text, p_period_no uuid) RETURNS TABLE(trade_no text, origin_no text, web_order_line_item_id text, product_id text, paid_at timestamp with time zone, quantity integer, price bigint, currency text, status text)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.product_id, t.purchase_date, t.quantity, t.price,
           t.currency,
           CASE WHEN bool_and(t.revocation_date IS NOT NULL AND coalesce(t.revocation_percentage, 100000) >= 100000) OVER () THEN 'refunded'
                WHEN bool_or(t.revocation_date IS NOT NULL) OVER () THEN 'partly_refunded'
                ELSE 'paid' END
    FROM appstore.transactions AS t
    WHERE t.environment = p_environment AND t.period_no = p_period_no AND t.is_purchased
    ORDER BY length(t.transaction_id), t.transaction_id COLLATE "C"
    LIMIT 1
$$;

ALTER FUNCTION appstore.paid_period(p_environment text, p_period_no uuid) OWNER TO appstore_owner;

CREATE FUNCTION appstore.payer(p_environment text, p_no uuid) RETURNS TABLE(period_no uuid)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT t.period_no
    FROM appstore.transactions AS t
    LEFT JOIN LATERAL (
        SELECT o.product_id, o.bundle_id FROM appstore.orders AS o WHERE o.no = p_no AND o.environment = p_environment OFFSET 0
    ) AS ordered ON true
    WHERE t.first_token = p_no AND t.environment = p_environment AND t.is_purchased
      AND (ordered.product_id IS NULL OR ordered.product_id = t.product_id)
      AND (ordered.bundle_id IS NULL OR ordered.bundle_id = t.bundle_id)
    ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id COLLATE "C"
    LIMIT 1
$$;

ALTER FUNCTION appstore.payer(p_environment text, p_no uuid) OWNER TO appstore_owner;

CREATE FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) RETURNS TABLE(user_id text)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT c.user_id
    FROM appstore.claims AS c
    WHERE c.original_transaction_id = p_contract AND c.environment = p_environment
    ORDER BY c.effective_at <= p_purchased_at DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.effective_at END DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.evidence END COLLATE "C" DESC,
             c.effective_at, c.evidence COLLATE "C"
    LIMIT 1
$$;

ALTER FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) OWNER TO appstore_owner;

CREATE FUNCTION appstore.posted_by(body bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_user text;
BEGIN
    v_user := convert_from(body, 'UTF8')::jsonb ->> 'user';
    RETURN CASE WHEN octet_length(v_user) <= 255 THEN v_user END;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

ALTER FUNCTION appstore.posted_by(body bytea) OWNER TO appstore_owner;

CREATE FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.outbox AS c
    SET is_leased = false, run_at = clock_timestamp() + postpone_call.delay, attempts = c.attempts + 1,
        repeats = CASE WHEN c.last_reason = postpone_call.reason THEN c.repeats + 1 ELSE 1 END, last_reason = postpone_call.reason
    WHERE c.call_id = postpone_call.call_id AND c.epoch = postpone_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM appstore.fall_back(ARRAY[postpone_call.call_id]);
    RETURN true;
END
$$;

ALTER FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) OWNER TO appstore_owner;

CREATE FUNCTION appstore.prepare_partitions() RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
DECLARE
    v_ages    appstore.retention;
    v_newest  bigint;
    v_top     bigint;
    v_caught  bigint;   -- the greatest id that the net has caught
    v_name    text;
    v_current record;
    v_since   timestamptz;
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN NULL;
    END IF;
    SELECT * INTO v_ages FROM appstore.retention;
    SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
    SELECT coalesce(max(p.to_id), 0) INTO v_top FROM appstore.inbox_partitions AS p;
    SELECT coalesce(max(d.event_id), 0) INTO v_caught FROM appstore.inbox_default AS d;

    IF v_top <= v_newest + 2 * v_ages.partition_events THEN
        IF greatest(v_newest, v_caught) >= v_top THEN
            -- Too late for the ids up to here, and for those that are being given out now: they stay in the net.
            v_top := greatest(v_newest, v_caught) + greatest(v_ages.partition_events / 10, 1000);
        END IF;
        v_name := 'inbox_from_' || v_top;
        EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.inbox INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES) '
                       'WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02)', v_name);
        EXECUTE format('ALTER TABLE appstore.inbox ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', v_name, v_top,
                       v_top + v_ages.partition_events);
        RETURN 'made ' || v_name;
    END IF;

    -- Ids may have gaps: the sequence leaps into the next partition, so that a shop with few events can drop one now and then, too.
    SELECT p.partition, p.from_id, p.to_id INTO v_current
    FROM appstore.inbox_partitions AS p WHERE p.from_id <= v_newest AND p.to_id > v_newest
        AND EXISTS (SELECT FROM appstore.inbox_partitions AS next WHERE next.from_id = p.to_id);
    IF v_current.partition IS NOT NULL THEN
        EXECUTE format('SELECT i.received_at FROM appstore.%I AS i ORDER BY i.event_id LIMIT 1', v_current.partition) INTO v_since;
        IF v_since < clock_timestamp() - greatest(least(coalesce(v_ages.bodies / 8, interval '30 days'), interval '30 days'),
                                                  interval '1 day') THEN
            -- Waits for those who have drawn an id, and makes others wait: between the look and the leap none is drawn.
            ALTER SEQUENCE appstore.inbox_event_id INCREMENT BY 1;
            SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
            IF v_newest < v_current.to_id - 1 THEN
                EXECUTE format('ALTER SEQUENCE appstore.inbox_event_id RESTART WITH %s', v_current.to_id);
                RETURN 'closed ' || v_current.partition;
            END IF;
        END IF;
    END IF;
    RETURN NULL;
END
$$;

ALTER FUNCTION appstore.prepare_partitions() OWNER TO appstore_owner;

CREATE FUNCTION appstore.put_back(event_ids bigint[], settled_before timestamp with time zone, actor text, spread interval) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_moved bigint[];
BEGIN
    WITH locked AS MATERIALIZED ( -- 1. in key order, as every writer
        SELECT found.event_id, found.bytes
        FROM (SELECT DISTINCT id FROM unnest(put_back.event_ids) AS id ORDER BY id) AS wanted
        CROSS JOIN LATERAL (
            SELECT o.event_id, octet_length(i.body) AS bytes
            FROM appstore.outcomes AS o CROSS JOIN appstore.inbox AS i
            WHERE o.event_id = wanted.id AND i.event_id = wanted.id AND o.settled_at < put_back.settled_before
            FOR UPDATE OF o FOR KEY SHARE OF i
        ) AS found
    ), numbered AS (
        SELECT locked.*, (row_number() OVER (ORDER BY locked.event_id) - 1)::double precision / count(*) OVER () AS position FROM locked
    ), taken AS ( -- 2. the outcome goes into the history
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (ARRAY(SELECT locked.event_id FROM locked)) RETURNING o.*
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT taken.*, clock_timestamp(), put_back.actor FROM taken
    ), back AS ( -- 3. the event into the queue
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT n.event_id, clock_timestamp() + n.position * put_back.spread, n.bytes
        FROM numbered AS n JOIN taken ON taken.event_id = n.event_id
        ORDER BY n.event_id
        RETURNING inbox_ready.event_id
    )
    SELECT coalesce(array_agg(back.event_id ORDER BY back.event_id), '{}') INTO v_moved FROM back;
    RETURN v_moved;
END
$$;

ALTER FUNCTION appstore.put_back(event_ids bigint[], settled_before timestamp with time zone, actor text, spread interval) OWNER TO appstore_owner;

CREATE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2'::text) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    IF source IS NULL OR source NOT IN ('notification_v2', 'notification_v1') THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF cardinality(bodies) > 0 THEN -- A question whether storing would be possible writes nothing, not even that it ended.
        PERFORM appstore.begin_to_store();
    END IF;
    RETURN QUERY
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body)
        SELECT receive.source, clock_timestamp(), received.body
        FROM unnest(bodies) WITH ORDINALITY AS received (body, position)
        ORDER BY received.position
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id;
END
$$;

ALTER FUNCTION appstore.receive(bodies bytea[], source text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.record_owner_link(environment text, original_transaction_id text, user_id text, linked_at timestamp with time zone, actor text, note text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.begin_to_store();
    PERFORM FROM appstore.transactions AS t
    WHERE t.environment = record_owner_link.environment AND t.original_transaction_id = record_owner_link.original_transaction_id
    ORDER BY t.transaction_id FOR UPDATE;
    INSERT INTO appstore.owner_links (environment, original_transaction_id, linked_at, user_id, actor, note)
    VALUES (record_owner_link.environment, record_owner_link.original_transaction_id, record_owner_link.linked_at,
            record_owner_link.user_id, record_owner_link.actor, record_owner_link.note);
    PERFORM appstore.derive_books(record_owner_link.environment, '{}', ARRAY[record_owner_link.original_transaction_id]);
END
$$;

ALTER FUNCTION appstore.record_owner_link(environment text, original_transaction_id text, user_id text, linked_at timestamp with time zone, actor text, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.rename_in_books(user_id text, alias text, OUT orders bigint, OUT others bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user      text := rename_in_books.user_id;
    v_alias     text := rename_in_books.alias;
    v_contracts appstore.contract_key[];
    v_rows      bigint;
BEGIN
    -- 1. What he posted; his orders, and their twins that are being made; the contracts; the orders of their periods: as a merge locks them.
    PERFORM FROM appstore.submissions AS s WHERE s.user_id = v_user ORDER BY s.transaction_id, s.environment FOR UPDATE;
    PERFORM FROM appstore.receipt_submissions AS s WHERE s.user_id = v_user
    ORDER BY s.original_transaction_id, s.environment, s.transaction_id FOR UPDATE;
    PERFORM pg_advisory_xact_lock(hashtextextended(made.no::text, 0))
    FROM (SELECT DISTINCT o.no FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no IS DISTINCT FROM o.period_no
          ORDER BY o.no) AS made;
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no IS DISTINCT FROM o.period_no
    ORDER BY o.environment, o.no FOR UPDATE;
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c ORDER BY c.environment, c.id);
    PERFORM FROM unnest(v_contracts) AS c (environment, id)
    CROSS JOIN LATERAL (
        SELECT FROM appstore.member_contracts AS m WHERE m.contract_id = c.id AND m.environment = c.environment FOR UPDATE
    ) AS locked;
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no = o.period_no ORDER BY o.environment, o.no FOR UPDATE;

    -- 2. The name.
    UPDATE appstore.orders AS o SET user_id = v_alias WHERE o.user_id = v_user;
    GET DIAGNOSTICS orders = ROW_COUNT;
    UPDATE appstore.member_contracts AS m SET user_id = v_alias WHERE m.user_id = v_user;
    GET DIAGNOSTICS others = ROW_COUNT;
    UPDATE appstore.claims AS k SET user_id = v_alias WHERE k.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.receipt_submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.owner_links AS l SET user_id = v_alias, note = NULL WHERE l.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.effects AS e SET user_id = v_alias
    WHERE e.ctid = ANY (ARRAY(
        SELECT known.ctid
        FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT seen.ctid FROM appstore.effects AS seen
            WHERE seen.original_transaction_id = c.id AND seen.environment = c.environment AND seen.user_id = v_user OFFSET 0
        ) AS known));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
END
$$;

ALTER FUNCTION appstore.rename_in_books(user_id text, alias text, OUT orders bigint, OUT others bigint) OWNER TO appstore_owner;

CREATE FUNCTION appstore.rename_in_words(user_id text, alias text, audits bigint[], links bigint[], events bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (rename_in_words.events) ORDER BY r.event_id FOR UPDATE;
    UPDATE appstore.inbox_ready AS r
    SET last_error = appstore.without_name(r.last_error, rename_in_words.user_id, rename_in_words.alias),
        run_at = greatest(r.run_at, clock_timestamp()) -- as every writer
    WHERE r.event_id = ANY (rename_in_words.events) AND appstore.mentions(r.last_error, rename_in_words.user_id);
    -- An outcome that is being requeued is waited for, and is in the history then.
    PERFORM FROM appstore.outcomes AS o WHERE o.event_id = ANY (rename_in_words.events) ORDER BY o.event_id FOR UPDATE;
    UPDATE appstore.outcomes AS o
    SET last_error = appstore.without_name(o.last_error, rename_in_words.user_id, rename_in_words.alias),
        reason = CASE WHEN o.result = 'discarded' THEN appstore.without_name(o.reason, rename_in_words.user_id, rename_in_words.alias)
                      ELSE o.reason END
    WHERE o.event_id = ANY (rename_in_words.events);
    UPDATE appstore.outcome_history AS h
    SET last_error = appstore.without_name(h.last_error, rename_in_words.user_id, rename_in_words.alias),
        reason = CASE WHEN h.result = 'discarded' THEN appstore.without_name(h.reason, rename_in_words.user_id, rename_in_words.alias)
                      ELSE h.reason END
    WHERE h.event_id = ANY (rename_in_words.events);
    UPDATE appstore.owner_links AS l -- others' links: their notes stand in the audit log, too
    SET note = appstore.without_name(l.note, rename_in_words.user_id, rename_in_words.alias)
    WHERE l.ctid = ANY (ARRAY(
        SELECT link.ctid
        FROM appstore.audit_log AS a
        CROSS JOIN LATERAL (
            SELECT known.ctid FROM appstore.owner_links AS known
            WHERE known.original_transaction_id = a.filter ->> 'original_transaction_id'
              AND known.environment = a.filter ->> 'environment' OFFSET 0
        ) AS link
        WHERE a.audit_id = ANY (rename_in_words.audits) AND a.action = 'link_owner'));
    UPDATE appstore.audit_log AS a
    SET note = appstore.without_name(a.note, rename_in_words.user_id, rename_in_words.alias),
        filter = CASE WHEN a.filter ? 'reason' THEN jsonb_set(a.filter, '{reason}', to_jsonb(
                          appstore.without_name(a.filter ->> 'reason', rename_in_words.user_id, rename_in_words.alias)))
                      ELSE a.filter END
    WHERE a.audit_id = ANY (rename_in_words.audits);
    UPDATE appstore.audit_log AS a SET note = NULL WHERE a.audit_id = ANY (rename_in_words.links);
END
$$;

ALTER FUNCTION appstore.rename_in_words(user_id text, alias text, audits bigint[], links bigint[], events bigint[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.renewal_status(s appstore.subscriptions, l appstore.legacy_renewals) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN NOT appstore.legacy_counts(s, l) THEN s.status
        WHEN l.is_in_billing_retry_period AND l.grace_period_expires_date IS NOT NULL THEN 4
        WHEN l.is_in_billing_retry_period THEN 3
        WHEN l.expiration_intent IS NOT NULL THEN 2
    END
$$;

ALTER FUNCTION appstore.renewal_status(s appstore.subscriptions, l appstore.legacy_renewals) OWNER TO appstore_owner;

CREATE FUNCTION appstore.repair_conditions(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    v_filter jsonb := jsonb_strip_nulls(jsonb_build_object(
        'outcome', outcome, 'reason', reason, 'notification_type', notification_type, 'subtype', subtype, 'environment', environment,
        'bundle_id', bundle_id, 'received_from', received_from, 'received_before', received_before));
BEGIN
    IF v_filter = '{}' THEN
        RAISE EXCEPTION 'name at least one condition: outcome, reason, notification_type, subtype, environment, bundle_id, '
                        'received_from, received_before'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF outcome NOT IN ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected', 'failed', 'discarded') THEN
        RAISE EXCEPTION 'outcome % is none of applied, superseded, no_effect, duplicate, unhandled, rejected, failed, discarded',
            quote_literal(outcome) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN v_filter;
END
$$;

ALTER FUNCTION appstore.repair_conditions(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone) OWNER TO appstore_owner;

CREATE FUNCTION appstore.repair_step() RETURNS TABLE(repair_id bigint, action text, state text, events bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_before appstore.repairs;
    v_after  appstore.repairs;
    v_error  text;
BEGIN
    SELECT r.* INTO v_before FROM appstore.repairs AS r
    WHERE r.state IN ('requested', 'running') AND r.next_step_at <= v_now
    ORDER BY r.next_step_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    BEGIN
        v_after := appstore.carry_on_repair(v_before);
        v_after.failures := 0;
        v_after.error := NULL;
    EXCEPTION
        WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
            v_error := SQLERRM;
            v_after := v_before;
            v_after.error := v_error;
            v_after.next_step_at := clock_timestamp() + interval '5 seconds';
        WHEN query_canceled OR OTHERS THEN
            v_error := SQLERRM;
            v_after := v_before;
            v_after.failures := v_before.failures + 1;
            v_after.error := v_error;
            v_after.next_step_at := clock_timestamp() + least(interval '1 second' * 2 ^ v_before.failures, interval '1 minute');
            IF v_after.failures >= 20 THEN
                v_after.state := 'failed';
                v_after.finished_at := clock_timestamp();
            END IF;
    END;
    UPDATE appstore.repairs AS r
    SET state = v_after.state, walked_to = v_after.walked_to, events_repaired = v_after.events_repaired, steps = v_after.steps,
        started_at = v_after.started_at, next_step_at = v_after.next_step_at, pace = v_after.pace, finished_at = v_after.finished_at,
        failures = v_after.failures, error = v_after.error, due_from = v_after.due_from
    WHERE r.repair_id = v_before.repair_id;
    RETURN QUERY SELECT v_before.repair_id, v_before.action, v_after.state, v_after.events_repaired - v_before.events_repaired;
END
$$;

ALTER FUNCTION appstore.repair_step() OWNER TO appstore_owner;

CREATE FUNCTION appstore.repeat_call(call_id bigint, note text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM appstore.outbox AS c JOIN appstore.outbox AS other ON other.kind = c.kind AND other.call_key = c.call_key
               WHERE c.call_id = repeat_call.call_id AND other.call_id <> c.call_id AND other.state = 'open') THEN
        RAISE EXCEPTION 'another call asks the same as call % and is open', call_id USING ERRCODE = 'object_in_use';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = 'open', reason = NULL, settled_at = NULL, run_at = clock_timestamp(), attempts = 0, last_reason = NULL, repeats = 0,
        deadline_at = clock_timestamp() + (c.deadline_at - c.asked_at), asked_at = clock_timestamp()
    WHERE c.call_id = repeat_call.call_id AND c.state IN ('refused', 'given_up', 'discarded');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'call % is open, answered or unknown', call_id USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'repeat_call', '{}', repeat_call.note, jsonb_build_object('call_id', repeat_call.call_id));
END
$$;

ALTER FUNCTION appstore.repeat_call(call_id bigint, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.request_repair(action text, filter jsonb, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    v_filter   jsonb := (
        SELECT appstore.repair_conditions(f.outcome, f.reason, f.notification_type, f.subtype, f.environment, f.bundle_id, f.received_from,
                                          f.received_before)
        FROM jsonb_populate_record(NULL::appstore.repair_filter, filter) AS f);
    v_unknown  text;
    v_expected bigint;
    v_repair   bigint;
BEGIN
    SELECT string_agg(k, ', ') INTO v_unknown FROM jsonb_object_keys(filter) AS k WHERE NOT v_filter ? k AND filter -> k <> 'null';
    IF v_unknown IS NOT NULL THEN
        RAISE EXCEPTION 'there is no such condition: %', v_unknown USING ERRCODE = 'invalid_parameter_value';
    ELSIF action IS NULL OR action NOT IN ('requeue', 'discard') THEN
        RAISE EXCEPTION 'action % is neither requeue nor discard', quote_nullable(action) USING ERRCODE = 'invalid_parameter_value';
    ELSIF action = 'discard' AND coalesce(btrim(note), '') = '' THEN
        RAISE EXCEPTION 'say why the events are discarded' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    v_expected := appstore.count_repair(action, v_filter);
    INSERT INTO appstore.repairs AS r (action, filter, note, requested_at, requested_by, events_expected, last_event_id, next_step_at)
    SELECT action, v_filter, note, t.now, session_user, v_expected, s.last_value, t.now
    FROM appstore.inbox_event_id AS s, (SELECT clock_timestamp() AS now) AS t
    RETURNING r.repair_id INTO v_repair;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'request_' || action, '{}', note,
            jsonb_build_object('repair_id', v_repair, 'events', v_expected) || v_filter);
    RETURN v_repair;
END
$$;

ALTER FUNCTION appstore.request_repair(action text, filter jsonb, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.requeue(event_id bigint, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_waiting bigint;
BEGIN
    SELECT r.event_id INTO v_waiting FROM appstore.inbox_ready AS r WHERE r.event_id = requeue.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE appstore.inbox_ready AS r SET run_at = clock_timestamp(), attempts = 0, is_suspect = false, deaths = 0
        WHERE r.event_id = requeue.event_id;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        VALUES (clock_timestamp(), session_user, 'requeue', ARRAY[requeue.event_id], requeue.note);
        RETURN 1;
    END IF;
    IF NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = requeue.event_id) THEN
        RAISE EXCEPTION 'event % does not exist, or its body has been dropped', requeue.event_id USING ERRCODE = 'no_data_found';
    END IF;
    RETURN appstore.requeue_settled(ARRAY[requeue.event_id], requeue.note, NULL);
END
$$;

ALTER FUNCTION appstore.requeue(event_id bigint, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.requeue(outcome text DEFAULT NULL::text, reason text DEFAULT NULL::text, notification_type text DEFAULT NULL::text, subtype text DEFAULT NULL::text, environment text DEFAULT NULL::text, bundle_id text DEFAULT NULL::text, received_from timestamp with time zone DEFAULT NULL::timestamp with time zone, received_before timestamp with time zone DEFAULT NULL::timestamp with time zone, max_events integer DEFAULT 1000, dry_run boolean DEFAULT false, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_variable
DECLARE
    v_json   jsonb := appstore.repair_conditions(outcome, reason, notification_type, subtype, environment, bundle_id, received_from,
                                                 received_before);
    v_events bigint[];
    v_repair bigint;
BEGIN
    IF max_events NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000, or null for all events' USING ERRCODE = 'invalid_parameter_value';
    ELSIF dry_run THEN
        RETURN appstore.count_repair('requeue', v_json, max_events);
    ELSIF max_events IS NULL AND appstore.count_repair('requeue', v_json, 1001) > 1000 THEN
        v_repair := appstore.request_repair('requeue', v_json, note);
        RAISE NOTICE 'repair % has been requested: SELECT * FROM appstore.repairs WHERE repair_id = %', v_repair, v_repair;
        RETURN (SELECT r.events_expected FROM appstore.repairs AS r WHERE r.repair_id = v_repair);
    END IF;
    v_events := ARRAY(SELECT found.event_id FROM appstore.find_repair('requeue', v_json, coalesce(max_events, 1000)) AS found (event_id));
    RETURN appstore.requeue_settled(v_events, note, v_json);
END
$$;

ALTER FUNCTION appstore.requeue(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_variable
DECLARE
    v_moved bigint[] := appstore.put_back(event_ids, 'infinity', session_user::text, interval '0');
BEGIN
    IF cardinality(v_moved) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'requeue', v_moved, requeue_settled.note, requeue_settled.filter);
    END IF;
    RETURN cardinality(v_moved);
END
$$;

ALTER FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) OWNER TO appstore_owner;

CREATE FUNCTION appstore.revoke_api_key(key_id integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION appstore.revoke_api_key(key_id integer) OWNER TO appstore_owner;

CREATE FUNCTION appstore.state_digest(environment text) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT encode(sha256(convert_to(string_agg(p.part || ' ' || p.rows || ' ' || p.digest, E'\n' ORDER BY p.part COLLATE "C"), 'UTF8')),
                  'hex')
    FROM appstore.state_digest_parts(state_digest.environment) AS p
$$;

ALTER FUNCTION appstore.state_digest(environment text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.state_digest_parts(environment text) RETURNS TABLE(part text, rows bigint, digest text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO, YMD'
    SET bytea_output TO 'hex'
    AS $$
#variable_conflict use_column
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT 'transactions', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.bundle_id, t.product_id, t.product_type,
                   t.subscription_group_identifier, t.purchase_date, t.original_purchase_date, t.expires_date, t.quantity,
                   t.app_account_token, t.in_app_ownership_type, t.revocation_date, t.revocation_reason, t.revocation_type,
                   t.revocation_percentage, t.is_upgraded, t.offer_type, t.offer_identifier, t.offer_discount_type, t.offer_period,
                   t.storefront, t.storefront_id, t.transaction_reason, t.currency, t.price, t.app_transaction_id, t.billing_plan_type,
                   t.signed_date, t.payload_hash, t.first_signed_date, t.first_token, t.first_token_signed_date, t.first_token_hash,
                   t.period_no, t.is_subscription, t.order_no, t.receipt_date, t.receipt_hash, t.receipt_expires_date,
                   t.receipt_revocation_date, t.receipt_revocation_reason, t.receipt_is_upgraded)::text AS line
        FROM appstore.transactions AS t WHERE t.environment = state_digest_parts.environment
        ORDER BY t.transaction_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'subscriptions', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(s.original_transaction_id, s.status, s.product_id, s.auto_renew_product_id, s.auto_renew_status, s.expiration_intent,
                   s.is_in_billing_retry_period, s.price_increase_status, s.grace_period_expires_date, s.renewal_date, s.renewal_price,
                   s.currency, s.offer_type, s.offer_identifier, s.offer_discount_type, s.offer_period, s.eligible_win_back_offer_ids,
                   s.recent_subscription_start_date, s.app_account_token, s.app_transaction_id, s.renewal_billing_plan_type,
                   s.signed_date, s.fact_hash)::text AS line
        FROM appstore.subscriptions AS s WHERE s.environment = state_digest_parts.environment
        ORDER BY s.original_transaction_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'legacy_renewals', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(l.original_transaction_id, l.bundle_id, l.provenance, l.product_id, l.auto_renew_product_id, l.auto_renew_status,
                   l.is_in_billing_retry_period, l.expiration_intent, l.grace_period_expires_date, l.price_increase_status,
                   l.promotional_offer_id, l.offer_code_ref_name, l.stated_at, l.fact_hash)::text AS line
        FROM appstore.legacy_renewals AS l WHERE l.environment = state_digest_parts.environment
        ORDER BY l.original_transaction_id COLLATE "C", l.bundle_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'refund_statements', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(r.notification_uuid, r.kind, r.transaction_id, r.original_transaction_id, r.reason, r.signed_date)::text AS line
        FROM appstore.refund_statements AS r WHERE r.environment = state_digest_parts.environment
        ORDER BY r.notification_uuid COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'orders', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(o.no, o.user_id, o.product_id, o.bundle_id, o.status, o.reason, o.period_no, o.trade_no, o.origin_no,
                   o.web_order_line_item_id, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency)::text AS line
        FROM appstore.orders AS o WHERE o.environment = state_digest_parts.environment
        ORDER BY o.no) AS sorted;
    RETURN QUERY
    SELECT 'claims', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(c.evidence, c.original_transaction_id, c.user_id, c.effective_at)::text AS line
        FROM appstore.claims AS c WHERE c.environment = state_digest_parts.environment
        ORDER BY c.original_transaction_id COLLATE "C", c.evidence COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'member_contracts', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(m.contract_id, m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, m.will_renew, m.started_at,
                   m.current_transaction_id, m.current_period_start, m.current_period_end, m.revoked_at, m.access_until)::text AS line
        FROM appstore.member_contracts AS m WHERE m.environment = state_digest_parts.environment
        ORDER BY m.contract_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'effects', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(e.kind, e.effect_key)::text AS line
        FROM appstore.effects AS e WHERE e.environment = state_digest_parts.environment
        ORDER BY e.kind COLLATE "C", e.effect_key COLLATE "C") AS sorted;
END
$$;

ALTER FUNCTION appstore.state_digest_parts(environment text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.stop_repair(repair_id bigint, note text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_action text;
BEGIN
    UPDATE appstore.repairs AS r
    SET state = 'stopped', stopped_by = session_user, finished_at = clock_timestamp()
    WHERE r.repair_id = stop_repair.repair_id AND r.state IN ('requested', 'running')
    RETURNING r.action INTO v_action;
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT FROM appstore.repairs AS r WHERE r.repair_id = stop_repair.repair_id) THEN
            RAISE EXCEPTION 'there is no repair %', stop_repair.repair_id USING ERRCODE = 'no_data_found';
        END IF;
        RETURN false;
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'stop_' || v_action, '{}', stop_repair.note,
            jsonb_build_object('repair_id', stop_repair.repair_id));
    RETURN true;
END
$$;

ALTER FUNCTION appstore.stop_repair(repair_id bigint, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.submit_receipt(body bytea) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT appstore.begin_to_store();
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_receipt', clock_timestamp(), submit_receipt.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id
$$;

ALTER FUNCTION appstore.submit_receipt(body bytea) OWNER TO appstore_owner;

CREATE FUNCTION appstore.submit_transaction(body bytea) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT appstore.begin_to_store();
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_transaction', clock_timestamp(), submit_transaction.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id
$$;

ALTER FUNCTION appstore.submit_transaction(body bytea) OWNER TO appstore_owner;

CREATE FUNCTION appstore.timeline(environment text, original_transaction_id text) RETURNS TABLE(occurred_at timestamp with time zone, learned_at timestamp with time zone, event_id bigint, what text, transaction_id text, product_id text, order_no uuid, user_id text, detail text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    WITH charge AS MATERIALIZED (
        -- 1. Its charges, and what each cost.
        SELECT t.*, trim_scale(t.price / 1000.0) || coalesce(' ' || t.currency, '') AS cost
        FROM appstore.transactions AS t
        WHERE t.environment = timeline.environment AND t.original_transaction_id = timeline.original_transaction_id
    ), effect AS MATERIALIZED (
        -- 2. Effects, and the event that brought each: an event that was requeued has its outcome in the history for a moment. What another
        --    app's secret vouches for did not happen to this contract.
        SELECT e.*, coalesce(o.received_at, h.received_at, e.recorded_at) AS learned_at,
               coalesce(o.notification_type, h.notification_type) || coalesce('/' || coalesce(o.subtype, h.subtype), '') AS said
        FROM appstore.effects AS e
        LEFT JOIN appstore.outcomes AS o ON o.event_id = e.event_id
        LEFT JOIN LATERAL (
            SELECT h.received_at, h.notification_type, h.subtype
            FROM appstore.outcome_history AS h WHERE h.event_id = e.event_id ORDER BY h.run DESC LIMIT 1
        ) AS h ON true
        WHERE e.environment = timeline.environment AND e.original_transaction_id = timeline.original_transaction_id
          AND NOT EXISTS (SELECT FROM charge AS c WHERE c.bundle_id <> e.vouched_bundle_id)
    ), told AS (
        SELECT e.occurred_at, e.learned_at, e.event_id, e.kind AS what, e.transaction_id, e.product_id, e.order_no, e.user_id,
               CASE
                   WHEN e.kind = 'granted' THEN concat_ws(', ',
                       'until ' || to_char(c.expires_date AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), c.cost,
                       CASE WHEN c.quantity > 1 THEN c.quantity || ' pieces' END, CASE WHEN NOT c.is_purchased THEN 'by family sharing' END)
                   WHEN e.kind IN ('refunded', 'revoked') THEN
                       -- Only while the register still says so: a reversal takes it back.
                       CASE WHEN date_trunc('second', c.revocation_date) = date_trunc('second', e.occurred_at) THEN concat_ws(', ',
                           CASE c.revocation_reason WHEN 0 THEN 'other reason' WHEN 1 THEN 'issue within the app'
                                                    ELSE 'reason ' || c.revocation_reason END,
                           trim_scale(c.revocation_percentage / 1000.0) || ' %')
                       ELSE 'taken back since' END
                   WHEN e.kind = 'consumption_asked' THEN coalesce((
                       SELECT r.reason FROM appstore.refund_statements AS r
                       WHERE r.environment = timeline.environment AND r.notification_uuid = e.effect_key), e.said)
                   ELSE e.said
               END AS detail,
               CASE e.kind WHEN 'granted' THEN 3 ELSE 7 END AS rank, e.effect_id AS position
        FROM effect AS e
        LEFT JOIN charge AS c ON c.transaction_id = e.transaction_id
        UNION ALL
        -- 3. The shop's orders that its charges name.
        SELECT o.ordered_at, o.ordered_at, NULL, 'order_made', NULL, o.product_id, o.no, o.user_id, o.bundle_id, 1, 0
        FROM (SELECT c.first_token FROM charge AS c UNION SELECT c.app_account_token FROM charge AS c) AS named (no)
        JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = named.no
        WHERE o.ordered_at IS NOT NULL
        UNION ALL
        -- 4. Its paid periods. Both the charge and the order must be known: the later of them pays.
        SELECT o.paid_at, CASE WHEN g.learned_at IS NOT NULL THEN greatest(g.learned_at, o.ordered_at) END, g.event_id, 'order_paid',
               o.trade_no, o.paid_product_id, o.no, o.user_id,
               concat_ws(', ', c.cost, CASE WHEN o.user_id IS NULL THEN 'nobody''s yet' END,
                         CASE WHEN o.status <> 'paid' THEN replace(o.status, '_', ' ') || ' since' END), 4, 0
        FROM appstore.orders AS o
        LEFT JOIN charge AS c ON c.transaction_id = o.trade_no
        LEFT JOIN effect AS g ON g.kind = 'granted'
            AND g.effect_key = coalesce(o.origin_no || '/' || o.web_order_line_item_id, o.trade_no)
        WHERE o.environment = timeline.environment AND o.origin_no = timeline.original_transaction_id
        UNION ALL
        (SELECT DISTINCT ON (o.no) c.purchase_date, NULL::timestamptz, NULL::bigint, 'order_not_paid', c.transaction_id, c.product_id, o.no,
                o.user_id, 'the order is for ' || o.product_id || coalesce(' of ' || o.bundle_id, ''), 5, 0
         FROM charge AS c
         JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = c.first_token
         WHERE c.is_purchased AND o.reason IS NOT NULL
         ORDER BY o.no, c.purchase_date, length(c.transaction_id), c.transaction_id COLLATE "C")
        UNION ALL
        -- 5. Who said that it is whose.
        SELECT s.received_at, s.received_at, s.event_id, 'submitted', s.transaction_id, c.product_id, c.order_no, s.user_id,
               CASE WHEN owner.user_id IS NULL THEN 'owner_unknown'
                    WHEN owner.user_id <> s.user_id THEN 'owner_conflict: it is ' || owner.user_id || '''s'
                    WHEN claim.user_id IS NOT NULL THEN 'his from the purchase on: nobody else had claimed it'
                    ELSE 'his already' END, 2, 0
        FROM appstore.submissions AS s
        LEFT JOIN charge AS c ON c.transaction_id = s.transaction_id
        LEFT JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = c.order_no
        LEFT JOIN appstore.member_contracts AS m ON m.environment = timeline.environment AND m.contract_id = s.original_transaction_id
        LEFT JOIN appstore.claims AS claim
            ON claim.environment = timeline.environment AND claim.original_transaction_id = s.original_transaction_id
               AND claim.evidence = 'client:' || s.transaction_id AND claim.user_id = s.user_id
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
        WHERE s.environment = timeline.environment AND s.original_transaction_id = timeline.original_transaction_id
        UNION ALL
        SELECT s.received_at, s.received_at, s.event_id, 'receipt_submitted', nullif(s.transaction_id, ''), c.product_id, c.order_no, s.user_id,
               CASE WHEN owner.user_id IS NULL THEN 'owner_unknown'
                    WHEN claim.evidence LIKE 'receipt:%' THEN 'his from the purchase on: the first who named it as just made'
                    WHEN claim.evidence IS NOT NULL THEN 'his from then on: nobody had claimed it'
                    WHEN owner.user_id = s.user_id THEN 'his already'
                    ELSE 'owner_conflict: it ' || CASE WHEN m.user_id = s.user_id THEN 'was ' ELSE 'is ' END || owner.user_id || '''s' END,
               2, 0
        FROM appstore.receipt_submissions AS s
        LEFT JOIN charge AS c ON c.transaction_id = s.transaction_id
        LEFT JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = c.order_no
        LEFT JOIN appstore.member_contracts AS m ON m.environment = timeline.environment AND m.contract_id = s.original_transaction_id
        LEFT JOIN appstore.claims AS claim
            ON claim.environment = timeline.environment AND claim.original_transaction_id = s.original_transaction_id
               AND claim.user_id = s.user_id
               AND (claim.evidence = 'receipt:' || s.transaction_id
                    OR (claim.evidence = 'restored:' || s.original_transaction_id AND claim.effective_at = s.received_at))
        LEFT JOIN LATERAL (
            SELECT k.user_id FROM appstore.claims AS k
            WHERE k.environment = timeline.environment AND k.original_transaction_id = s.original_transaction_id
              AND k.effective_at <= s.received_at
            ORDER BY k.effective_at DESC, k.evidence COLLATE "C" DESC LIMIT 1
        ) AS owned ON s.transaction_id = ''
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, owned.user_id, m.user_id) AS user_id) AS owner
        WHERE s.environment = timeline.environment AND s.original_transaction_id = timeline.original_transaction_id
        UNION ALL
        SELECT l.linked_at, l.linked_at, NULL, 'linked', NULL, NULL, NULL, l.user_id, 'by ' || l.actor || coalesce(': ' || l.note, ''), 6, 0
        FROM appstore.owner_links AS l
        WHERE l.environment = timeline.environment AND l.original_transaction_id = timeline.original_transaction_id
        UNION ALL
        SELECT k.effective_at, NULL, NULL, 'claimed', c.transaction_id, c.product_id, c.app_account_token, k.user_id,
               'the charge was given this token later', 6, 0
        FROM appstore.claims AS k
        LEFT JOIN charge AS c ON 'token:' || c.transaction_id = k.evidence
        WHERE k.environment = timeline.environment AND k.original_transaction_id = timeline.original_transaction_id
          AND k.evidence LIKE 'token:%'
        UNION ALL
        -- 6. What was answered to Apple.
        SELECT a.answered_at, a.answered_at, NULL, 'consumption_answered', a.transaction_id, c.product_id, c.order_no, NULL,
               'by ' || a.actor, 8, 0
        FROM charge AS c
        JOIN appstore.consumption_answers AS a ON a.environment = timeline.environment AND a.transaction_id = c.transaction_id
        UNION ALL
        -- 7. Events about it that nobody made use of.
        SELECT o.received_at, o.received_at, o.event_id, 'event_' || o.result, o.transaction_id, NULL, NULL, NULL,
               concat_ws(': ', o.notification_type || coalesce('/' || o.subtype, ''), o.reason), 9, 0
        FROM appstore.outcomes AS o
        WHERE o.environment = timeline.environment AND o.original_transaction_id = timeline.original_transaction_id
          AND o.result IN ('unhandled', 'rejected', 'failed', 'discarded')
        UNION ALL
        -- 8. Where it leads.
        SELECT DISTINCT t.until, NULL::timestamptz, NULL::bigint,
               CASE WHEN t.until > now() THEN 'access_will_end' ELSE 'access_ended' END, NULL, t.product_id, NULL::uuid, t.user_id,
               CASE WHEN t.until <= now() THEN t.why_ended WHEN t.will_renew THEN 'unless it renews' END, 10, 0
        FROM appstore.entitlement_terms AS t
        WHERE t.environment = timeline.environment AND t.original_transaction_id = timeline.original_transaction_id
          AND t.until < 'infinity'
    )
    SELECT t.occurred_at, t.learned_at, t.event_id, t.what, t.transaction_id, t.product_id, t.order_no, t.user_id, nullif(t.detail, '')
    FROM told AS t
    ORDER BY t.occurred_at, t.rank, t.learned_at, t.position, t.transaction_id, t.user_id
$$;

ALTER FUNCTION appstore.timeline(environment text, original_transaction_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.without_name(said text, user_id text, alias text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT CASE WHEN appstore.mentions(said, user_id) THEN regexp_replace(said, appstore.name_pattern(user_id), alias, 'g') ELSE said END
$$;

ALTER FUNCTION appstore.without_name(said text, user_id text, alias text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.words_about(user_id text, OUT audits bigint[], OUT links bigint[], OUT events bigint[]) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT ARRAY(SELECT a.audit_id FROM appstore.audit_log AS a
                 WHERE appstore.mentions(a.note, words_about.user_id) OR appstore.mentions(a.filter ->> 'reason', words_about.user_id)),
           ARRAY(SELECT a.audit_id FROM appstore.audit_log AS a
                 WHERE a.action = 'link_owner' AND a.note IS NOT NULL
                   AND ROW(a.filter ->> 'environment', a.filter ->> 'original_transaction_id')::appstore.contract_key = ANY (ARRAY(
                       SELECT ROW(c.environment, c.id)::appstore.contract_key
                       FROM appstore.contracts_of(words_about.user_id) AS c WHERE c.is_his))),
           ARRAY(SELECT o.event_id FROM appstore.outcomes AS o
                 WHERE (o.result = 'discarded' OR o.last_error IS NOT NULL)
                   AND (appstore.mentions(o.last_error, words_about.user_id)
                        OR o.result = 'discarded' AND appstore.mentions(o.reason, words_about.user_id))
                 UNION
                 SELECT h.event_id FROM appstore.outcome_history AS h
                 WHERE (h.result = 'discarded' OR h.last_error IS NOT NULL)
                   AND (appstore.mentions(h.last_error, words_about.user_id)
                        OR h.result = 'discarded' AND appstore.mentions(h.reason, words_about.user_id))
                 UNION
                 SELECT r.event_id FROM appstore.inbox_ready AS r WHERE appstore.mentions(r.last_error, words_about.user_id)
                 ORDER BY 1)
$$;

ALTER FUNCTION appstore.words_about(user_id text, OUT audits bigint[], OUT links bigint[], OUT events bigint[]) OWNER TO appstore_owner;

CREATE AGGREGATE appstore.chained_digest(text) (
    SFUNC = appstore.chain_link,
    STYPE = bytea,
    INITCOND = ''
);

ALTER AGGREGATE appstore.chained_digest(text) OWNER TO appstore_owner;

CREATE TABLE appstore.api_keys (
    key_id integer NOT NULL,
    name text NOT NULL,
    key_hash bytea NOT NULL,
    bundle_ids text[],
    environments text[] NOT NULL,
    verbs text[] NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_bundle_ids_not_empty CHECK (((cardinality(bundle_ids) > 0) AND (array_position(bundle_ids, NULL::text) IS NULL))),
    CONSTRAINT api_keys_environments_are_known CHECK (((cardinality(environments) > 0) AND (environments <@ ARRAY['Production'::text, 'Sandbox'::text]))),
    CONSTRAINT api_keys_hash_is_sha256 CHECK ((octet_length(key_hash) = 32)),
    CONSTRAINT api_keys_name_is_short CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 100))),
    CONSTRAINT api_keys_verbs_are_known CHECK (((cardinality(verbs) > 0) AND (verbs <@ ARRAY['orders:create'::text, 'transactions:submit'::text, 'receipts:submit'::text, 'events:read'::text, 'entitlements:read'::text, 'subscriptions:read'::text, 'contracts:link'::text])))
);

ALTER TABLE appstore.api_keys OWNER TO appstore_owner;

ALTER TABLE appstore.api_keys ALTER COLUMN key_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.api_keys_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.audit_log (
    audit_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    event_ids bigint[] NOT NULL,
    note text,
    filter jsonb
);

ALTER TABLE appstore.audit_log OWNER TO appstore_owner;

ALTER TABLE appstore.audit_log ALTER COLUMN audit_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.audit_log_audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.claims (
    environment appstore.environment NOT NULL,
    evidence text NOT NULL,
    original_transaction_id text NOT NULL,
    user_id text NOT NULL,
    effective_at timestamp with time zone NOT NULL
);

ALTER TABLE appstore.claims OWNER TO appstore_owner;

CREATE TABLE appstore.consumption_answers (
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL,
    answered_at timestamp with time zone NOT NULL,
    actor text NOT NULL
);

ALTER TABLE appstore.consumption_answers OWNER TO appstore_owner;

CREATE TABLE appstore.member_contracts (
    environment appstore.environment NOT NULL,
    contract_id text NOT NULL,
    user_id text,
    bundle_id text,
    product_id text,
    status integer,
    will_renew boolean,
    started_at timestamp with time zone,
    current_transaction_id text,
    current_period_start timestamp with time zone,
    current_period_end timestamp with time zone,
    access_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    product_type text,
    revoked_at timestamp with time zone
)
WITH (fillfactor='80');

ALTER TABLE appstore.member_contracts OWNER TO appstore_owner;

CREATE TABLE appstore.orders (
    environment appstore.environment NOT NULL,
    no uuid NOT NULL,
    user_id text,
    product_id text,
    bundle_id text,
    ordered_at timestamp with time zone,
    status text DEFAULT 'pending'::text NOT NULL,
    reason text,
    period_no uuid,
    trade_no text,
    origin_no text,
    web_order_line_item_id text,
    paid_product_id text,
    paid_at timestamp with time zone,
    quantity integer,
    price bigint,
    currency text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT orders_known_to_somebody CHECK (((ordered_at IS NULL) OR (user_id IS NOT NULL))),
    CONSTRAINT orders_paid_by_a_period CHECK ((((status = 'pending'::text) = (period_no IS NULL)) AND ((period_no IS NULL) = (trade_no IS NULL)))),
    CONSTRAINT orders_reason_is_known CHECK ((reason = 'product_mismatch'::text)),
    CONSTRAINT orders_status_is_known CHECK ((status = ANY (ARRAY['pending'::text, 'paid'::text, 'partly_refunded'::text, 'refunded'::text])))
);

ALTER TABLE appstore.orders OWNER TO appstore_owner;

CREATE TABLE appstore.refund_statements (
    environment appstore.environment NOT NULL,
    notification_uuid text NOT NULL,
    kind text NOT NULL,
    transaction_id text NOT NULL,
    original_transaction_id text NOT NULL,
    reason text,
    signed_date timestamp with time zone NOT NULL,
    CONSTRAINT refund_statements_kind_is_known CHECK ((kind = ANY (ARRAY['asked'::text, 'refunded'::text, 'declined'::text])))
);

ALTER TABLE appstore.refund_statements OWNER TO appstore_owner;

CREATE VIEW appstore.consumption_requests AS
 WITH said AS (
         SELECT r.environment,
            r.notification_uuid,
            r.kind,
            r.transaction_id,
            r.original_transaction_id,
            r.reason,
            r.signed_date,
            max(r.signed_date) FILTER (WHERE (r.kind <> 'asked'::text)) OVER (PARTITION BY r.environment, r.transaction_id) AS decided_at
           FROM appstore.refund_statements r
        ), asked AS (
         SELECT DISTINCT ON (s.environment, s.transaction_id) s.environment,
            s.transaction_id,
            s.original_transaction_id,
            s.signed_date,
            s.reason
           FROM said s
          WHERE ((s.kind = 'asked'::text) AND ((s.decided_at IS NULL) OR (s.signed_date > s.decided_at)))
          ORDER BY s.environment, s.transaction_id, s.signed_date, (s.notification_uuid COLLATE "C")
        )
 SELECT (a.environment)::text AS environment,
    a.transaction_id,
    (answer.answered_at IS NULL) AS open,
    a.signed_date AS asked_at,
    (a.signed_date + '12:00:00'::interval) AS due_at,
    answer.answered_at,
    a.reason,
    a.original_transaction_id,
    t.product_id,
    COALESCE(o.user_id, m.user_id) AS user_id,
    t.order_no
   FROM ((((asked a
     LEFT JOIN LATERAL ( SELECT min(c.answered_at) AS answered_at
           FROM appstore.consumption_answers c
          WHERE (((c.environment)::text = (a.environment)::text) AND (c.transaction_id = a.transaction_id) AND (c.answered_at >= a.signed_date))) answer ON (true))
     LEFT JOIN appstore.transactions t ON ((((t.environment)::text = (a.environment)::text) AND (t.transaction_id = a.transaction_id))))
     LEFT JOIN appstore.orders o ON ((((o.environment)::text = (t.environment)::text) AND (o.no = t.order_no))))
     LEFT JOIN appstore.member_contracts m ON ((((m.environment)::text = (a.environment)::text) AND (m.contract_id = a.original_transaction_id))));

ALTER TABLE appstore.consumption_requests OWNER TO appstore_owner;

CREATE TABLE appstore.effects (
    environment appstore.environment NOT NULL,
    kind text NOT NULL,
    effect_key text NOT NULL,
    effect_id bigint NOT NULL,
    event_id bigint NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    original_transaction_id text,
    transaction_id text,
    product_id text,
    order_no uuid,
    user_id text,
    vouched_bundle_id text
);

ALTER TABLE appstore.effects OWNER TO appstore_owner;

ALTER TABLE appstore.effects ALTER COLUMN effect_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.effects_effect_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.products (
    product_id text NOT NULL,
    entitlement text NOT NULL,
    days integer,
    CONSTRAINT products_days_positive CHECK ((days > 0)),
    CONSTRAINT products_days_within_a_century CHECK ((days <= 36500))
);

ALTER TABLE appstore.products OWNER TO appstore_owner;

CREATE VIEW appstore.entitlement_terms AS
 SELECT (m.environment)::text AS environment,
    m.user_id,
    m.product_id,
    COALESCE(p.entitlement, m.product_id) AS entitlement,
    term.until,
        CASE
            WHEN (m.status = 4) THEN m.current_period_end
            ELSE NULL::timestamp with time zone
        END AS grace_from,
        CASE
            WHEN (c.transaction_id IS NULL) THEN 'purchase_unknown'::text
            WHEN (term.until IS NULL) THEN 'duration_unknown'::text
            WHEN (((m.revoked_at IS NOT NULL) AND ((m.current_period_end IS NULL) OR (term.until < m.current_period_end))) OR ((m.status = 5) AND (s.signed_date >= c.first_signed_date))) THEN
            CASE
                WHEN c.is_upgraded THEN 'upgraded'::text
                WHEN c.is_purchased THEN 'refunded'::text
                ELSE 'revoked'::text
            END
            WHEN ((m.status = ANY (ARRAY[3, 4])) AND (GREATEST(s.signed_date, l.stated_at) >= c.first_signed_date)) THEN 'billing_retry'::text
            ELSE 'expired'::text
        END AS why_ended,
        CASE
            WHEN (c.is_subscription IS NOT FALSE) THEN m.will_renew
            ELSE false
        END AS will_renew,
    m.contract_id AS original_transaction_id,
    m.bundle_id
   FROM (((((appstore.member_contracts m
     LEFT JOIN appstore.transactions c ON ((((c.environment)::text = (m.environment)::text) AND (c.transaction_id = m.current_transaction_id))))
     LEFT JOIN appstore.subscriptions s ON ((((s.environment)::text = (m.environment)::text) AND (s.original_transaction_id = m.contract_id))))
     LEFT JOIN appstore.products p ON ((p.product_id = m.product_id)))
     LEFT JOIN LATERAL ( SELECT r.environment,
            r.original_transaction_id,
            r.bundle_id,
            r.provenance,
            r.product_id,
            r.auto_renew_product_id,
            r.auto_renew_status,
            r.is_in_billing_retry_period,
            r.expiration_intent,
            r.grace_period_expires_date,
            r.price_increase_status,
            r.promotional_offer_id,
            r.offer_code_ref_name,
            r.stated_at,
            r.fact_hash
           FROM appstore.legacy_renewals r
          WHERE ((r.original_transaction_id = m.contract_id) AND ((r.environment)::text = (m.environment)::text) AND (r.bundle_id = m.bundle_id))
         OFFSET 0) l ON (true))
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN ((m.access_until IS NOT NULL) OR (c.product_type IS DISTINCT FROM 'Non-Renewing Subscription'::text)) THEN m.access_until
                    WHEN (p.product_id IS NOT NULL) THEN COALESCE((m.current_period_start + ((p.days)::double precision * '24:00:00'::interval)), 'infinity'::timestamp with time zone)
                    ELSE NULL::timestamp with time zone
                END AS until) term)
  WHERE ((m.product_id IS NOT NULL) AND (c.confers_access OR (c.transaction_id IS NULL)));

ALTER TABLE appstore.entitlement_terms OWNER TO appstore_owner;

CREATE VIEW appstore.entitlements AS
 SELECT entitlements_at.environment,
    entitlements_at.user_id,
    entitlements_at.product_id,
    entitlements_at.entitlement,
    entitlements_at.active,
    entitlements_at.until,
    entitlements_at.why,
    entitlements_at.in_grace,
    entitlements_at.will_renew,
    entitlements_at.original_transaction_id,
    entitlements_at.bundle_id
   FROM appstore.entitlements_at(now()) entitlements_at(environment, user_id, product_id, entitlement, active, until, why, in_grace, will_renew, original_transaction_id, bundle_id);

ALTER TABLE appstore.entitlements OWNER TO appstore_owner;

CREATE TABLE appstore.event_contracts (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL,
    event_id bigint NOT NULL
);

ALTER TABLE appstore.event_contracts OWNER TO appstore_owner;

CREATE VIEW appstore.failed AS
 SELECT o.event_id,
    o.source,
    o.received_at,
    o.settled_at,
    o.reason,
    o.last_error,
    o.attempts,
    o.run,
    o.notification_type,
    o.subtype,
    o.notification_uuid,
    o.environment,
    o.bundle_id,
    o.transaction_id,
    o.original_transaction_id
   FROM appstore.outcomes o
  WHERE (o.result = 'failed'::text);

ALTER TABLE appstore.failed OWNER TO appstore_owner;

CREATE TABLE appstore.inbox (
    event_id bigint NOT NULL,
    source text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT inbox_body_within_limits CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 4194304))),
    CONSTRAINT inbox_source_is_a_name CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
)
PARTITION BY RANGE (event_id);
ALTER TABLE ONLY appstore.inbox ALTER COLUMN body SET STORAGE EXTERNAL;

ALTER TABLE appstore.inbox OWNER TO appstore_owner;

CREATE SEQUENCE appstore.inbox_event_id
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER TABLE appstore.inbox_event_id OWNER TO appstore_owner;

ALTER SEQUENCE appstore.inbox_event_id OWNED BY appstore.inbox.event_id;

CREATE TABLE appstore.inbox_default (
    event_id bigint DEFAULT nextval('appstore.inbox_event_id'::regclass) NOT NULL,
    source text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT inbox_body_within_limits CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 4194304))),
    CONSTRAINT inbox_source_is_a_name CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', toast.autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE ONLY appstore.inbox_default ALTER COLUMN body SET STORAGE EXTERNAL;

ALTER TABLE appstore.inbox_default OWNER TO appstore_owner;

CREATE TABLE appstore.inbox_first (
    event_id bigint DEFAULT nextval('appstore.inbox_event_id'::regclass) NOT NULL,
    source text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT inbox_body_within_limits CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 4194304))),
    CONSTRAINT inbox_source_is_a_name CHECK ((source ~ '^[a-z][a-z0-9_]{0,62}$'::text))
)
WITH (autovacuum_vacuum_scale_factor='0.02', toast.autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE ONLY appstore.inbox_first ALTER COLUMN body SET STORAGE EXTERNAL;

ALTER TABLE appstore.inbox_first OWNER TO appstore_owner;

CREATE UNLOGGED TABLE appstore.inbox_in_flight (
    lane bigint NOT NULL,
    event_ids bigint[] NOT NULL,
    is_alone boolean NOT NULL,
    marked_at timestamp with time zone NOT NULL,
    lost_at timestamp with time zone,
    server_start timestamp with time zone DEFAULT pg_postmaster_start_time() NOT NULL,
    CONSTRAINT inbox_in_flight_alone_is_one CHECK (((NOT is_alone) OR (cardinality(event_ids) = 1))),
    CONSTRAINT inbox_in_flight_has_events CHECK ((cardinality(event_ids) > 0))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');

ALTER TABLE appstore.inbox_in_flight OWNER TO appstore_owner;

CREATE VIEW appstore.inbox_partitions AS
 SELECT (c.relname)::text AS partition,
    b.from_id,
    b.to_id,
    COALESCE((b.to_id <= s.last_value), false) AS is_past,
    pg_total_relation_size((c.oid)::regclass) AS bytes
   FROM ((((pg_inherits h
     JOIN pg_class c ON ((c.oid = h.inhrelid)))
     CROSS JOIN appstore.inbox_event_id s)
     CROSS JOIN LATERAL ( SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) e)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN (e.bound = 'DEFAULT'::text) THEN NULL::bigint
                    ELSE COALESCE(("substring"(e.bound, 'FROM \(''?(\d+)''?\)'::text))::bigint, (0)::bigint)
                END AS from_id,
            ("substring"(e.bound, 'TO \(''?(\d+)''?\)'::text))::bigint AS to_id) b)
  WHERE (h.inhparent = ('appstore.inbox'::regclass)::oid);

ALTER TABLE appstore.inbox_partitions OWNER TO appstore_owner;

CREATE TABLE appstore.inbox_ready (
    event_id bigint NOT NULL,
    run_at timestamp with time zone NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    bytes integer NOT NULL,
    is_suspect boolean DEFAULT false NOT NULL,
    last_error text,
    deaths smallint DEFAULT 0 NOT NULL,
    CONSTRAINT inbox_ready_attempts_not_negative CHECK ((attempts >= 0)),
    CONSTRAINT inbox_ready_deaths_not_negative CHECK ((deaths >= 0))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

ALTER TABLE appstore.inbox_ready OWNER TO appstore_owner;

CREATE VIEW appstore.inbox_status AS
 SELECT r.event_id,
    ( SELECT i.source
           FROM appstore.inbox i
          WHERE (i.event_id = r.event_id)) AS source,
    ( SELECT i.received_at
           FROM appstore.inbox i
          WHERE (i.event_id = r.event_id)) AS received_at,
        CASE
            WHEN (r.run_at <= statement_timestamp()) THEN 'ready'::text
            ELSE 'waiting'::text
        END AS state,
    NULL::text AS outcome,
    NULL::text AS reason,
    NULL::text AS notification_type,
    NULL::text AS subtype,
    NULL::text AS notification_uuid,
    NULL::text AS environment,
    NULL::text AS transaction_id,
    NULL::text AS original_transaction_id,
    (r.attempts)::integer AS attempts,
    r.run_at AS next_run_at,
    r.last_error,
    NULL::timestamp with time zone AS settled_at
   FROM appstore.inbox_ready r
UNION ALL
 SELECT o.event_id,
    o.source,
    o.received_at,
    'settled'::text AS state,
    o.result AS outcome,
    o.reason,
    o.notification_type,
    o.subtype,
    o.notification_uuid,
    o.environment,
    o.transaction_id,
    o.original_transaction_id,
    o.attempts,
    NULL::timestamp with time zone AS next_run_at,
    o.last_error,
    o.settled_at
   FROM appstore.outcomes o;

ALTER TABLE appstore.inbox_status OWNER TO appstore_owner;

CREATE TABLE appstore.notifications_seen (
    environment appstore.environment NOT NULL,
    notification_uuid text NOT NULL,
    first_event_id bigint NOT NULL
);

ALTER TABLE appstore.notifications_seen OWNER TO appstore_owner;

CREATE TABLE appstore.outbox (
    call_id bigint NOT NULL,
    kind text NOT NULL,
    call_key text NOT NULL,
    bundle_id text NOT NULL,
    event_id bigint,
    asked_by bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    payload bytea,
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deadline_at timestamp with time zone NOT NULL,
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    is_leased boolean DEFAULT false NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_reason text,
    repeats integer DEFAULT 0 NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    reason text,
    settled_at timestamp with time zone,
    answer_event_id bigint,
    fallback_source text,
    fallback_event_id bigint,
    CONSTRAINT outbox_answer_of_the_answered CHECK (((answer_event_id IS NULL) OR (state = 'answered'::text))),
    CONSTRAINT outbox_fallback_is_a_source CHECK ((fallback_source ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    CONSTRAINT outbox_fallback_where_wanted CHECK (((fallback_event_id IS NULL) OR (fallback_source IS NOT NULL))),
    CONSTRAINT outbox_key_is_short CHECK (((octet_length(call_key) >= 1) AND (octet_length(call_key) <= 255))),
    CONSTRAINT outbox_kind_is_a_name CHECK ((kind ~ '^[a-z][a-z0-9_]{0,62}$'::text)),
    CONSTRAINT outbox_made_of_something CHECK (((event_id IS NOT NULL) OR (payload IS NOT NULL))),
    CONSTRAINT outbox_payload_within_limits CHECK ((octet_length(payload) <= 4194304)),
    CONSTRAINT outbox_reason_where_needed CHECK (((reason IS NOT NULL) OR (state = ANY (ARRAY['open'::text, 'answered'::text])))),
    CONSTRAINT outbox_settled_in_the_end CHECK ((((state = 'open'::text) = (settled_at IS NULL)) AND ((state = 'open'::text) OR (NOT is_leased)))),
    CONSTRAINT outbox_state_is_known CHECK ((state = ANY (ARRAY['open'::text, 'answered'::text, 'refused'::text, 'given_up'::text, 'discarded'::text])))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');

ALTER TABLE appstore.outbox OWNER TO appstore_owner;

ALTER TABLE appstore.outbox ALTER COLUMN call_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.outbox_call_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW appstore.outbox_status AS
 SELECT c.call_id,
    c.kind,
    c.bundle_id,
    c.event_id,
    c.state,
    c.reason,
        CASE
            WHEN ((c.state = 'open'::text) AND (c.run_at < (statement_timestamp() - '00:01:00'::interval))) THEN 'no_worker'::text
            WHEN (c.state = 'open'::text) THEN c.last_reason
            ELSE NULL::text
        END AS waits_for,
    c.attempts,
    c.asked_at,
        CASE
            WHEN (c.state = 'open'::text) THEN c.run_at
            ELSE NULL::timestamp with time zone
        END AS next_run_at,
    c.is_leased,
    c.deadline_at,
    c.settled_at,
    c.answer_event_id,
    c.fallback_event_id
   FROM appstore.outbox c;

ALTER TABLE appstore.outbox_status OWNER TO appstore_owner;

CREATE TABLE appstore.outcome_history (
    event_id bigint NOT NULL,
    source text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone NOT NULL,
    run integer NOT NULL,
    attempts integer NOT NULL,
    result text NOT NULL,
    reason text,
    last_error text,
    notification_type text,
    subtype text,
    notification_uuid text,
    environment text,
    bundle_id text,
    transaction_id text,
    original_transaction_id text,
    replaced_at timestamp with time zone NOT NULL,
    replaced_by text NOT NULL
);

ALTER TABLE appstore.outcome_history OWNER TO appstore_owner;

CREATE TABLE appstore.owner_links (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL,
    linked_at timestamp with time zone NOT NULL,
    user_id text NOT NULL,
    actor text NOT NULL,
    note text,
    CONSTRAINT owner_links_user_is_a_name CHECK (((octet_length(user_id) >= 1) AND (octet_length(user_id) <= 255)))
);

ALTER TABLE appstore.owner_links OWNER TO appstore_owner;

CREATE TABLE appstore.partition_checks (
    partition text NOT NULL,
    began_at timestamp with time zone NOT NULL,
    checked_to bigint NOT NULL,
    kept bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    not_before timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL
);

ALTER TABLE appstore.partition_checks OWNER TO appstore_owner;

CREATE TABLE appstore.receipt_submissions (
    environment appstore.environment NOT NULL,
    original_transaction_id text NOT NULL,
    user_id text NOT NULL,
    transaction_id text DEFAULT ''::text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    event_id bigint NOT NULL,
    CONSTRAINT receipt_submissions_user_is_a_name CHECK (((octet_length(user_id) >= 1) AND (octet_length(user_id) <= 255)))
);

ALTER TABLE appstore.receipt_submissions OWNER TO appstore_owner;

ALTER TABLE appstore.repairs ALTER COLUMN repair_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME appstore.repairs_repair_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE appstore.retention (
    is_only boolean DEFAULT true NOT NULL,
    bodies interval,
    outcomes interval,
    rejected_bodies interval DEFAULT '1 day'::interval NOT NULL,
    rejected_outcomes interval DEFAULT '30 days'::interval NOT NULL,
    partition_events bigint DEFAULT 10000000 NOT NULL,
    CONSTRAINT retention_bodies_a_day CHECK ((bodies >= '1 day'::interval)),
    CONSTRAINT retention_is_one_row CHECK (is_only),
    CONSTRAINT retention_outcomes_outlive_bodies CHECK (((outcomes IS NULL) OR ((bodies IS NOT NULL) AND (outcomes >= bodies)))),
    CONSTRAINT retention_partition_events_sensible CHECK (((partition_events >= 1000) AND (partition_events <= 1000000000))),
    CONSTRAINT retention_rejected_bodies_an_hour CHECK ((rejected_bodies >= '01:00:00'::interval)),
    CONSTRAINT retention_rejected_outcomes_outlive_bodies CHECK ((rejected_outcomes >= rejected_bodies))
);

ALTER TABLE appstore.retention OWNER TO appstore_owner;

CREATE TABLE appstore.retention_walks (
    walk text NOT NULL,
    settled_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    event_id bigint DEFAULT 0 NOT NULL
);

ALTER TABLE appstore.retention_walks OWNER TO appstore_owner;

CREATE TABLE appstore.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE appstore.schema_migrations OWNER TO appstore_owner;

CREATE TABLE appstore.submissions (
    environment appstore.environment NOT NULL,
    transaction_id text NOT NULL,
    user_id text NOT NULL,
    original_transaction_id text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    event_id bigint NOT NULL,
    CONSTRAINT submissions_user_is_a_name CHECK (((octet_length(user_id) >= 1) AND (octet_length(user_id) <= 255)))
);

ALTER TABLE appstore.submissions OWNER TO appstore_owner;

CREATE VIEW appstore.unmatched AS
 WITH unowned AS (
         SELECT DISTINCT ON (o.environment, o.origin_no) o.environment,
            o.no,
            o.period_no,
            o.trade_no,
            o.origin_no,
            o.paid_product_id,
            o.paid_at,
            count(*) OVER (PARTITION BY o.environment, o.origin_no) AS periods
           FROM appstore.orders o
          WHERE ((o.user_id IS NULL) AND (o.status = ANY (ARRAY['paid'::text, 'partly_refunded'::text])))
          ORDER BY o.environment, o.origin_no, (o.no = o.period_no), o.paid_at, (length(o.trade_no)), (o.trade_no COLLATE "C")
        ), explained AS (
         SELECT u.environment,
            u.no,
            u.period_no,
            u.trade_no,
            u.origin_no,
            u.paid_product_id,
            u.paid_at,
            u.periods,
            COALESCE(named.no, u.no) AS concerned,
            named.product_id AS ordered_product,
            named.bundle_id AS ordered_bundle,
            COALESCE(named.user_id, posted.user_id) AS user_id,
                CASE
                    WHEN (u.no <> u.period_no) THEN 'order_unknown'::text
                    WHEN (named.product_id <> t.product_id) THEN 'product_mismatch'::text
                    WHEN (named.bundle_id <> t.bundle_id) THEN 'bundle_mismatch'::text
                    WHEN (named.no IS NOT NULL) THEN 'order_paid_before'::text
                    WHEN (posted.user_id IS NOT NULL) THEN 'too_late'::text
                    ELSE 'no_user'::text
                END AS reason
           FROM (((unowned u
             LEFT JOIN appstore.transactions t ON ((((t.environment)::text = (u.environment)::text) AND (t.transaction_id = u.trade_no))))
             LEFT JOIN appstore.orders named ON (((u.no = u.period_no) AND ((named.environment)::text = (u.environment)::text) AND (named.no = t.first_token))))
             LEFT JOIN LATERAL ( SELECT s.user_id
                   FROM appstore.submissions s
                  WHERE ((u.no = u.period_no) AND ((s.environment)::text = (u.environment)::text) AND (s.original_transaction_id = u.origin_no))
                  ORDER BY s.received_at, s.event_id
                 LIMIT 1) posted ON (true))
        ), unpaid AS (
         SELECT n.environment,
            n.no,
            n.user_id,
            n.product_id AS ordered_product,
            n.bundle_id AS ordered_bundle,
            t.transaction_id,
            t.original_transaction_id,
            t.product_id,
            t.purchase_date,
            given.user_id AS given_to,
                CASE
                    WHEN (n.product_id <> t.product_id) THEN 'product_mismatch'::text
                    ELSE 'bundle_mismatch'::text
                END AS reason
           FROM ((appstore.orders n
             CROSS JOIN LATERAL ( SELECT t_1.environment,
                    t_1.transaction_id,
                    t_1.original_transaction_id,
                    t_1.web_order_line_item_id,
                    t_1.bundle_id,
                    t_1.product_id,
                    t_1.product_type,
                    t_1.subscription_group_identifier,
                    t_1.purchase_date,
                    t_1.original_purchase_date,
                    t_1.expires_date,
                    t_1.quantity,
                    t_1.app_account_token,
                    t_1.in_app_ownership_type,
                    t_1.revocation_date,
                    t_1.revocation_reason,
                    t_1.revocation_type,
                    t_1.revocation_percentage,
                    t_1.is_upgraded,
                    t_1.offer_type,
                    t_1.offer_identifier,
                    t_1.offer_discount_type,
                    t_1.offer_period,
                    t_1.storefront,
                    t_1.storefront_id,
                    t_1.transaction_reason,
                    t_1.currency,
                    t_1.price,
                    t_1.app_transaction_id,
                    t_1.billing_plan_type,
                    t_1.signed_date,
                    t_1.payload_hash,
                    t_1.first_signed_date,
                    t_1.first_token,
                    t_1.first_token_signed_date,
                    t_1.first_token_hash,
                    t_1.period_no,
                    t_1.is_subscription,
                    t_1.is_purchased,
                    t_1.order_no,
                    t_1.named_no,
                    t_1.confers_access,
                    t_1.receipt_date,
                    t_1.receipt_hash,
                    t_1.receipt_expires_date,
                    t_1.receipt_revocation_date,
                    t_1.receipt_revocation_reason,
                    t_1.receipt_is_upgraded,
                    t_1.left_contract
                   FROM appstore.transactions t_1
                  WHERE (((t_1.environment)::text = (n.environment)::text) AND (t_1.first_token = n.no) AND t_1.is_purchased)
                  ORDER BY t_1.purchase_date, (length(t_1.transaction_id)), (t_1.transaction_id COLLATE "C")
                 LIMIT 1) t)
             JOIN appstore.orders given ON ((((given.environment)::text = (t.environment)::text) AND (given.no = t.order_no))))
          WHERE ((n.reason IS NOT NULL) AND (given.user_id <> n.user_id) AND (given.status <> 'refunded'::text))
        ), posted AS (
         SELECT s.environment,
            s.original_transaction_id,
            s.user_id,
            s.received_at,
            s.event_id,
            t.order_no,
            t.transaction_id,
            t.product_id,
            t.purchase_date,
            owner.user_id AS owner
           FROM ((((appstore.submissions s
             JOIN appstore.transactions t ON ((((t.environment)::text = (s.environment)::text) AND (t.transaction_id = s.transaction_id))))
             LEFT JOIN appstore.orders o ON ((((o.environment)::text = (t.environment)::text) AND (o.no = t.order_no))))
             LEFT JOIN appstore.member_contracts m ON ((((m.environment)::text = (s.environment)::text) AND (m.contract_id = s.original_transaction_id))))
             CROSS JOIN LATERAL ( SELECT COALESCE(o.user_id, m.user_id) AS user_id) owner)
          WHERE ((owner.user_id <> s.user_id) OR ((owner.user_id IS NULL) AND (NOT t.is_purchased)))
        UNION ALL
         SELECT s.environment,
            s.original_transaction_id,
            s.user_id,
            s.received_at,
            s.event_id,
            t.order_no,
            t.transaction_id,
            t.product_id,
            t.purchase_date,
            owner.user_id
           FROM ((((appstore.receipt_submissions s
             JOIN appstore.member_contracts m ON ((((m.environment)::text = (s.environment)::text) AND (m.contract_id = s.original_transaction_id))))
             JOIN appstore.transactions t ON ((((t.environment)::text = (s.environment)::text) AND (t.transaction_id = COALESCE(NULLIF(s.transaction_id, ''::text), m.current_transaction_id)))))
             LEFT JOIN appstore.orders o ON (((s.transaction_id <> ''::text) AND ((o.environment)::text = (t.environment)::text) AND (o.no = t.order_no))))
             CROSS JOIN LATERAL ( SELECT COALESCE(o.user_id, m.user_id) AS user_id) owner)
          WHERE ((owner.user_id <> s.user_id) AND ((s.transaction_id <> ''::text) OR (t.confers_access AND (s.user_id IS DISTINCT FROM ( SELECT c.user_id
                   FROM appstore.claims c
                  WHERE (((c.environment)::text = (s.environment)::text) AND (c.original_transaction_id = s.original_transaction_id) AND (c.effective_at <= s.received_at))
                  ORDER BY c.effective_at DESC, (c.evidence COLLATE "C") DESC
                 LIMIT 1)))))
        ), refused AS (
         SELECT DISTINCT ON (p.environment, p.original_transaction_id, p.user_id) p.environment,
            p.original_transaction_id,
            p.user_id,
            p.received_at,
            p.event_id,
            p.order_no,
            p.transaction_id,
            p.product_id,
            p.purchase_date,
            p.owner
           FROM posted p
          WHERE ((NOT (EXISTS ( SELECT
                   FROM appstore.owner_links l
                  WHERE (((l.environment)::text = (p.environment)::text) AND (l.original_transaction_id = p.original_transaction_id) AND (l.linked_at >= p.received_at))))) AND (NOT (EXISTS ( SELECT
                   FROM appstore.orders u
                  WHERE (((u.environment)::text = (p.environment)::text) AND (u.origin_no = p.original_transaction_id) AND (u.user_id IS NULL) AND (u.status = ANY (ARRAY['paid'::text, 'partly_refunded'::text])))))))
          ORDER BY p.environment, p.original_transaction_id, p.user_id, p.received_at, p.event_id
        )
 SELECT e.environment,
    e.concerned AS no,
    e.reason,
    e.trade_no AS transaction_id,
    e.origin_no AS original_transaction_id,
    e.paid_product_id AS product_id,
    e.paid_at AS purchase_date,
        CASE e.reason
            WHEN 'order_unknown'::text THEN 'Call create_order with this number.'::text
            WHEN 'no_user'::text THEN 'The app posts it within 72 hours of the purchase, or call link_owner.'::text
            WHEN 'too_late'::text THEN (('Call link_owner if it is '::text || e.user_id) || '''s, or refund.'::text)
            WHEN 'order_paid_before'::text THEN (('One token pays once. Call link_owner if it is '::text || COALESCE((e.user_id || '''s'::text), 'somebody''s'::text)) || ', or refund.'::text)
            ELSE ((((('The order is for '::text || e.ordered_product) || COALESCE((' of '::text || e.ordered_bundle), ''::text)) || '. Call link_owner if this will do for '::text) || e.user_id) || ', or refund.'::text)
        END AS resolution,
    e.user_id,
    e.periods
   FROM explained e
UNION ALL
 SELECT u.environment,
    u.no,
    u.reason,
    u.transaction_id,
    u.original_transaction_id,
    u.product_id,
    u.purchase_date,
    ((((((('The order is for '::text || u.ordered_product) || COALESCE((' of '::text || u.ordered_bundle), ''::text)) || '; what was bought went to '::text) || u.given_to) || ', whose contract it is. Call link_owner if it is '::text) || u.user_id) || '''s, or refund.'::text) AS resolution,
    u.user_id,
    1 AS periods
   FROM unpaid u
  WHERE (NOT (EXISTS ( SELECT
           FROM appstore.owner_links l
          WHERE (((l.environment)::text = (u.environment)::text) AND (l.original_transaction_id = u.original_transaction_id) AND (l.linked_at >= u.purchase_date)))))
UNION ALL
 SELECT r.environment,
    r.order_no AS no,
        CASE
            WHEN (r.owner IS NULL) THEN 'too_late'::text
            ELSE 'owner_conflict'::text
        END AS reason,
    r.transaction_id,
    r.original_transaction_id,
    r.product_id,
    r.purchase_date,
        CASE
            WHEN (r.owner IS NULL) THEN (('Call link_owner if it is '::text || r.user_id) || '''s.'::text)
            ELSE (((((('It is '::text || r.owner) || '''s. Call link_owner, for '::text) || r.user_id) || ' or to confirm '::text) || r.owner) || '.'::text)
        END AS resolution,
    r.user_id,
    1 AS periods
   FROM refused r;

ALTER TABLE appstore.unmatched OWNER TO appstore_owner;

ALTER TABLE ONLY appstore.inbox ATTACH PARTITION appstore.inbox_default DEFAULT;

ALTER TABLE ONLY appstore.inbox ATTACH PARTITION appstore.inbox_first FOR VALUES FROM (MINVALUE) TO ('10000000');

ALTER TABLE ONLY appstore.inbox ALTER COLUMN event_id SET DEFAULT nextval('appstore.inbox_event_id'::regclass);

ALTER TABLE ONLY appstore.api_keys
    ADD CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash);

ALTER TABLE ONLY appstore.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (key_id);

ALTER TABLE ONLY appstore.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (audit_id);

ALTER TABLE ONLY appstore.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (original_transaction_id, environment, evidence);

ALTER TABLE ONLY appstore.consumption_answers
    ADD CONSTRAINT consumption_answers_pkey PRIMARY KEY (transaction_id, environment, answered_at);

ALTER TABLE ONLY appstore.effects
    ADD CONSTRAINT effects_pkey PRIMARY KEY (effect_key, kind, environment);

ALTER TABLE ONLY appstore.event_contracts
    ADD CONSTRAINT event_contracts_pkey PRIMARY KEY (original_transaction_id, environment, event_id);

ALTER TABLE ONLY appstore.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_default
    ADD CONSTRAINT inbox_default_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_first
    ADD CONSTRAINT inbox_first_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_in_flight
    ADD CONSTRAINT inbox_in_flight_pkey PRIMARY KEY (lane);

ALTER TABLE ONLY appstore.inbox_ready
    ADD CONSTRAINT inbox_ready_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.legacy_renewals
    ADD CONSTRAINT legacy_renewals_pkey PRIMARY KEY (original_transaction_id, environment, bundle_id);

ALTER TABLE ONLY appstore.member_contracts
    ADD CONSTRAINT member_contracts_pkey PRIMARY KEY (contract_id, environment);

ALTER TABLE ONLY appstore.notifications_seen
    ADD CONSTRAINT notifications_seen_pkey PRIMARY KEY (notification_uuid, environment);

ALTER TABLE ONLY appstore.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (no, environment);

ALTER TABLE ONLY appstore.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (call_id);

ALTER TABLE ONLY appstore.outcome_history
    ADD CONSTRAINT outcome_history_pkey PRIMARY KEY (event_id, run);

ALTER TABLE ONLY appstore.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.owner_links
    ADD CONSTRAINT owner_links_pkey PRIMARY KEY (original_transaction_id, environment, linked_at);

ALTER TABLE ONLY appstore.partition_checks
    ADD CONSTRAINT partition_checks_pkey PRIMARY KEY (partition);

ALTER TABLE ONLY appstore.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (product_id, entitlement);

ALTER TABLE ONLY appstore.receipt_submissions
    ADD CONSTRAINT receipt_submissions_pkey PRIMARY KEY (original_transaction_id, environment, user_id, transaction_id);

ALTER TABLE ONLY appstore.refund_statements
    ADD CONSTRAINT refund_statements_pkey PRIMARY KEY (notification_uuid, environment);

ALTER TABLE ONLY appstore.repairs
    ADD CONSTRAINT repairs_pkey PRIMARY KEY (repair_id);

ALTER TABLE ONLY appstore.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY appstore.retention_walks
    ADD CONSTRAINT retention_walks_pkey PRIMARY KEY (walk);

ALTER TABLE ONLY appstore.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY appstore.submissions
    ADD CONSTRAINT submissions_pkey PRIMARY KEY (transaction_id, environment, user_id);

ALTER TABLE ONLY appstore.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (original_transaction_id, environment);

ALTER TABLE ONLY appstore.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (transaction_id, environment);

CREATE INDEX audit_log_by_event ON appstore.audit_log USING gin (event_ids);

CREATE INDEX claims_by_user ON appstore.claims USING btree (user_id);

CREATE INDEX effects_by_contract ON appstore.effects USING btree (original_transaction_id, environment, occurred_at);

CREATE INDEX event_contracts_by_event ON appstore.event_contracts USING btree (event_id);

CREATE INDEX inbox_by_poster ON ONLY appstore.inbox USING btree (appstore.posted_by(body)) WHERE (source = 'client_transaction'::text);

CREATE INDEX inbox_default_posted_by_idx ON appstore.inbox_default USING btree (appstore.posted_by(body)) WHERE (source = 'client_transaction'::text);

CREATE INDEX inbox_receipts_by_poster ON ONLY appstore.inbox USING btree (appstore.posted_by(body)) WHERE (source = 'client_receipt'::text);

CREATE INDEX inbox_default_posted_by_idx1 ON appstore.inbox_default USING btree (appstore.posted_by(body)) WHERE (source = 'client_receipt'::text);

CREATE INDEX inbox_first_posted_by_idx ON appstore.inbox_first USING btree (appstore.posted_by(body)) WHERE (source = 'client_transaction'::text);

CREATE INDEX inbox_first_posted_by_idx1 ON appstore.inbox_first USING btree (appstore.posted_by(body)) WHERE (source = 'client_receipt'::text);

CREATE INDEX inbox_ready_by_run_at ON appstore.inbox_ready USING btree (run_at, event_id);

CREATE INDEX inbox_ready_suspects ON appstore.inbox_ready USING btree (deaths, run_at, event_id) WHERE is_suspect;

CREATE INDEX member_contracts_by_user ON appstore.member_contracts USING btree (user_id, environment) WHERE (user_id IS NOT NULL);

CREATE INDEX orders_by_contract ON appstore.orders USING btree (origin_no, environment) WHERE (origin_no IS NOT NULL);

CREATE INDEX orders_by_period ON appstore.orders USING btree (period_no, environment) WHERE (period_no IS NOT NULL);

CREATE INDEX orders_by_token_of_contract ON appstore.orders USING btree (origin_no, environment) WHERE (no <> period_no);

CREATE INDEX orders_by_user ON appstore.orders USING btree (user_id, environment) WHERE (user_id IS NOT NULL);

CREATE INDEX orders_not_paid ON appstore.orders USING btree (environment, no) WHERE (reason IS NOT NULL);

CREATE INDEX orders_without_user ON appstore.orders USING btree (environment, origin_no) WHERE ((user_id IS NULL) AND (status = ANY (ARRAY['paid'::text, 'partly_refunded'::text])));

CREATE INDEX outbox_answered ON appstore.outbox USING btree (kind, call_key, settled_at) WHERE (state = 'answered'::text);

CREATE INDEX outbox_awaited ON appstore.outbox USING btree (asked_at, call_id) WHERE ((state = 'open'::text) AND (fallback_source IS NOT NULL) AND (fallback_event_id IS NULL));

CREATE INDEX outbox_by_key ON appstore.outbox USING btree (call_key, kind, call_id);

CREATE INDEX outbox_deadlines ON appstore.outbox USING btree (deadline_at, call_id) WHERE ((state = 'open'::text) AND (deadline_at IS NOT NULL));

CREATE INDEX outbox_due ON appstore.outbox USING btree (bundle_id, kind, run_at, call_id) WHERE (state = 'open'::text);

CREATE INDEX outbox_of_answer ON appstore.outbox USING btree (answer_event_id) WHERE (answer_event_id IS NOT NULL);

CREATE INDEX outbox_of_event ON appstore.outbox USING btree (event_id) WHERE (event_id IS NOT NULL);

CREATE UNIQUE INDEX outbox_open ON appstore.outbox USING btree (call_key, kind) WHERE (state = 'open'::text);

CREATE INDEX outbox_settled ON appstore.outbox USING btree (settled_at, call_id) WHERE (state <> 'open'::text);

CREATE INDEX outcome_history_by_replaced_at ON appstore.outcome_history USING btree (replaced_at);

CREATE INDEX outcome_history_with_words ON appstore.outcome_history USING btree (event_id) WHERE ((result = 'discarded'::text) OR (last_error IS NOT NULL));

CREATE INDEX outcomes_by_contract ON appstore.outcomes USING btree (original_transaction_id, environment) WHERE (original_transaction_id IS NOT NULL);

CREATE INDEX outcomes_needing_attention ON appstore.outcomes USING btree (result, settled_at, event_id) WHERE (result = ANY (ARRAY['failed'::text, 'rejected'::text, 'unhandled'::text, 'discarded'::text]));

CREATE INDEX outcomes_with_words ON appstore.outcomes USING btree (event_id) WHERE ((result = 'discarded'::text) OR (last_error IS NOT NULL));

CREATE INDEX owner_links_by_user ON appstore.owner_links USING btree (user_id);

CREATE INDEX receipt_submissions_by_user ON appstore.receipt_submissions USING btree (user_id);

CREATE INDEX refund_statements_by_transaction ON appstore.refund_statements USING btree (transaction_id, environment, signed_date);

CREATE INDEX repairs_unfinished ON appstore.repairs USING btree (next_step_at) WHERE (state = ANY (ARRAY['requested'::text, 'running'::text]));

CREATE INDEX submissions_by_contract ON appstore.submissions USING btree (original_transaction_id, environment);

CREATE INDEX submissions_by_user ON appstore.submissions USING btree (user_id);

CREATE INDEX transactions_by_contract ON appstore.transactions USING btree (original_transaction_id, environment, purchase_date DESC, expires_date DESC NULLS LAST, length(transaction_id) DESC, transaction_id COLLATE "C" DESC);

CREATE INDEX transactions_by_first_token ON appstore.transactions USING btree (first_token, environment, purchase_date, length(transaction_id), transaction_id COLLATE "C") WHERE (first_token IS NOT NULL);

CREATE INDEX transactions_by_later_token ON appstore.transactions USING btree (app_account_token, environment) WHERE (app_account_token <> first_token);

CREATE INDEX transactions_by_period ON appstore.transactions USING btree (period_no, environment);

CREATE INDEX transactions_of_later_token ON appstore.transactions USING btree (original_transaction_id, environment) WHERE (app_account_token <> first_token);

ALTER INDEX appstore.inbox_pkey ATTACH PARTITION appstore.inbox_default_pkey;

ALTER INDEX appstore.inbox_by_poster ATTACH PARTITION appstore.inbox_default_posted_by_idx;

ALTER INDEX appstore.inbox_receipts_by_poster ATTACH PARTITION appstore.inbox_default_posted_by_idx1;

ALTER INDEX appstore.inbox_pkey ATTACH PARTITION appstore.inbox_first_pkey;

ALTER INDEX appstore.inbox_by_poster ATTACH PARTITION appstore.inbox_first_posted_by_idx;

ALTER INDEX appstore.inbox_receipts_by_poster ATTACH PARTITION appstore.inbox_first_posted_by_idx1;

GRANT USAGE ON SCHEMA appstore TO appstore_ingest;
GRANT USAGE ON SCHEMA appstore TO appstore_worker;
GRANT USAGE ON SCHEMA appstore TO appstore_operator;
GRANT USAGE ON SCHEMA appstore TO appstore_viewer;
GRANT USAGE ON SCHEMA appstore TO appstore_backend;
GRANT USAGE ON SCHEMA appstore TO appstore_api;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.legacy_renewals TO appstore_worker;
GRANT SELECT ON TABLE appstore.legacy_renewals TO appstore_operator;
GRANT SELECT ON TABLE appstore.legacy_renewals TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.subscriptions TO appstore_worker;
GRANT SELECT ON TABLE appstore.subscriptions TO appstore_operator;
GRANT SELECT ON TABLE appstore.subscriptions TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.transactions TO appstore_worker;
GRANT SELECT ON TABLE appstore.transactions TO appstore_operator;
GRANT SELECT ON TABLE appstore.transactions TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions, l appstore.legacy_renewals) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions, l appstore.legacy_renewals) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.age(walk text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.age(walk text) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.age_calls() FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.age_calls() TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.api_create_order(user_id text, product_id text, no uuid, bundle_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_create_order(user_id text, product_id text, no uuid, bundle_id text) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_entitlements(environment text, user_id text, bundle_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_entitlements(environment text, user_id text, bundle_ids text[]) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_event(event_id bigint, with_submission boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_event(event_id bigint, with_submission boolean) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_key(key_hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_key(key_hash bytea) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_link_owner(environment text, original_transaction_id text, user_id text, bundle_ids text[], key_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_link_owner(environment text, original_transaction_id text, user_id text, bundle_ids text[], key_id integer) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_receipt_charges(environment text, transaction_ids text[], user_id text, bundle_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_receipt_charges(environment text, transaction_ids text[], user_id text, bundle_ids text[]) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_receipt_question(call_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_receipt_question(call_key text) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[]) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.begin_to_store() FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.books_concerned(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.books_concerned(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.books_named(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.books_named(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) TO appstore_worker;

GRANT SELECT ON TABLE appstore.repairs TO appstore_operator;
GRANT SELECT ON TABLE appstore.repairs TO appstore_viewer;
GRANT SELECT ON TABLE appstore.repairs TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.carry_on_repair(r appstore.repairs) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.chain_link(digest bytea, line text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.chain_link(digest bytea, line text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.chain_link(digest bytea, line text) TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.claims_of(p_environment text, p_contract text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.claims_of(p_environment text, p_contract text) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.consumption_answered(environment text, transaction_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.consumption_answered(environment text, transaction_id text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.consumption_answered(environment text, transaction_id text) TO appstore_backend;

REVOKE ALL ON FUNCTION appstore.contracts_of(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.create_order(user_id text, product_id text, no uuid, bundle_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.create_order(user_id text, product_id text, no uuid, bundle_id text) TO appstore_backend;

REVOKE ALL ON FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.demand_read_committed() FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.discard(event_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.discard(event_id bigint, reason text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.discard(why text, outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.discard(why text, outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.discard_settled(event_ids bigint[], settled_before timestamp with time zone, actor text, reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.drop_aged_partition() FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.drop_aged_partition() TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.end_posts(posts bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.entitlements_at(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.entitlements_at(at timestamp with time zone) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.entitlements_at(at timestamp with time zone) TO appstore_viewer;
GRANT ALL ON FUNCTION appstore.entitlements_at(at timestamp with time zone) TO appstore_backend;

REVOKE ALL ON FUNCTION appstore.events_not_exactly_once() FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.events_not_exactly_once() TO appstore_operator;
GRANT ALL ON FUNCTION appstore.events_not_exactly_once() TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.fall_back(calls bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.fall_back_from(answers bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.fall_back_from(answers bigint[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.find_repair(action text, filter jsonb, max_events integer) FROM PUBLIC;

GRANT SELECT,INSERT ON TABLE appstore.outcomes TO appstore_worker;
GRANT SELECT ON TABLE appstore.outcomes TO appstore_operator;
GRANT SELECT ON TABLE appstore.outcomes TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.fits(o appstore.outcomes, f appstore.repair_filter) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.forget(user_id text, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.forget(user_id text, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean) TO appstore_worker;
GRANT ALL ON FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.inbox_statistics(OUT ready bigint, OUT waiting bigint, OUT unsettled bigint, OUT suspects bigint, OUT failed bigint, OUT overdue interval, OUT oldest_unsettled interval, OUT silence interval, OUT lost_batches bigint, OUT partitions bigint, OUT snapshot_age interval, OUT snapshot_transactions bigint, OUT sees_all_sessions boolean) TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.is_junk(o appstore.outcomes) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.keep_house() FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.legacy_counts(s appstore.subscriptions, l appstore.legacy_renewals) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.legacy_counts(s appstore.subscriptions, l appstore.legacy_renewals) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text) TO appstore_backend;

REVOKE ALL ON FUNCTION appstore.lock_books(p_environment text, p_tokens uuid[], p_contracts text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.lock_books(p_environment text, p_tokens uuid[], p_contracts text[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.lock_for_order(no uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments text[], verbs text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.make_api_key(key_hash bytea, name text, bundle_ids text[], environments text[], verbs text[]) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.mentions(said text, user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.name_pattern(user_id text) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.outbox_statistics(OUT open bigint, OUT oldest interval) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.paid_period(p_environment text, p_period_no uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.paid_period(p_environment text, p_period_no uuid) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.payer(p_environment text, p_no uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.payer(p_environment text, p_no uuid) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.posted_by(body bytea) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.prepare_partitions() FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.prepare_partitions() TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.put_back(event_ids bigint[], settled_before timestamp with time zone, actor text, spread interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.receive(bodies bytea[], source text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.receive(bodies bytea[], source text) TO appstore_ingest;

REVOKE ALL ON FUNCTION appstore.record_owner_link(environment text, original_transaction_id text, user_id text, linked_at timestamp with time zone, actor text, note text) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.rename_in_books(user_id text, alias text, OUT orders bigint, OUT others bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.rename_in_words(user_id text, alias text, audits bigint[], links bigint[], events bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.renewal_status(s appstore.subscriptions, l appstore.legacy_renewals) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.renewal_status(s appstore.subscriptions, l appstore.legacy_renewals) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.repair_conditions(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.repair_step() FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.repair_step() TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.repeat_call(call_id bigint, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.repeat_call(call_id bigint, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.request_repair(action text, filter jsonb, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.request_repair(action text, filter jsonb, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.requeue(event_id bigint, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.requeue(event_id bigint, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.requeue(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.requeue(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.revoke_api_key(key_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.revoke_api_key(key_id integer) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.state_digest(environment text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.state_digest(environment text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.state_digest(environment text) TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.state_digest_parts(environment text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.state_digest_parts(environment text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.state_digest_parts(environment text) TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.stop_repair(repair_id bigint, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.stop_repair(repair_id bigint, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.submit_receipt(body bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.submit_receipt(body bytea) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.submit_transaction(body bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.submit_transaction(body bytea) TO appstore_api;

REVOKE ALL ON FUNCTION appstore.timeline(environment text, original_transaction_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.timeline(environment text, original_transaction_id text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.timeline(environment text, original_transaction_id text) TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.without_name(said text, user_id text, alias text) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.words_about(user_id text, OUT audits bigint[], OUT links bigint[], OUT events bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.chained_digest(text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.chained_digest(text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.chained_digest(text) TO appstore_viewer;

GRANT SELECT(key_id) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(key_id) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(name) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(name) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(bundle_ids) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(bundle_ids) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(environments) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(environments) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(verbs) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(verbs) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(created_at) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(created_at) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(revoked_at) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(revoked_at) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT(last_used_at) ON TABLE appstore.api_keys TO appstore_operator;
GRANT SELECT(last_used_at) ON TABLE appstore.api_keys TO appstore_viewer;

GRANT SELECT ON TABLE appstore.audit_log TO appstore_operator;
GRANT SELECT ON TABLE appstore.audit_log TO appstore_viewer;
GRANT SELECT ON TABLE appstore.audit_log TO appstore_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.claims TO appstore_worker;
GRANT SELECT ON TABLE appstore.claims TO appstore_operator;
GRANT SELECT ON TABLE appstore.claims TO appstore_viewer;

GRANT SELECT ON TABLE appstore.consumption_answers TO appstore_worker;
GRANT SELECT ON TABLE appstore.consumption_answers TO appstore_operator;
GRANT SELECT ON TABLE appstore.consumption_answers TO appstore_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.member_contracts TO appstore_worker;
GRANT SELECT ON TABLE appstore.member_contracts TO appstore_operator;
GRANT SELECT ON TABLE appstore.member_contracts TO appstore_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.orders TO appstore_worker;
GRANT SELECT ON TABLE appstore.orders TO appstore_operator;
GRANT SELECT ON TABLE appstore.orders TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.refund_statements TO appstore_worker;
GRANT SELECT ON TABLE appstore.refund_statements TO appstore_operator;
GRANT SELECT ON TABLE appstore.refund_statements TO appstore_viewer;

GRANT SELECT ON TABLE appstore.consumption_requests TO appstore_operator;
GRANT SELECT ON TABLE appstore.consumption_requests TO appstore_viewer;
GRANT SELECT ON TABLE appstore.consumption_requests TO appstore_backend;

GRANT SELECT,INSERT ON TABLE appstore.effects TO appstore_worker;
GRANT SELECT ON TABLE appstore.effects TO appstore_operator;
GRANT SELECT ON TABLE appstore.effects TO appstore_viewer;

GRANT SELECT ON TABLE appstore.products TO appstore_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.products TO appstore_operator;
GRANT SELECT ON TABLE appstore.products TO appstore_viewer;

GRANT SELECT ON TABLE appstore.entitlement_terms TO appstore_operator;
GRANT SELECT ON TABLE appstore.entitlement_terms TO appstore_viewer;
GRANT SELECT ON TABLE appstore.entitlement_terms TO appstore_backend;

GRANT SELECT ON TABLE appstore.entitlements TO appstore_operator;
GRANT SELECT ON TABLE appstore.entitlements TO appstore_viewer;
GRANT SELECT ON TABLE appstore.entitlements TO appstore_backend;

GRANT SELECT,INSERT ON TABLE appstore.event_contracts TO appstore_worker;
GRANT SELECT ON TABLE appstore.event_contracts TO appstore_operator;
GRANT SELECT ON TABLE appstore.event_contracts TO appstore_viewer;

GRANT SELECT ON TABLE appstore.failed TO appstore_operator;
GRANT SELECT ON TABLE appstore.failed TO appstore_viewer;
GRANT SELECT ON TABLE appstore.failed TO appstore_worker;

GRANT SELECT ON TABLE appstore.inbox TO appstore_worker;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.inbox_in_flight TO appstore_worker;
GRANT SELECT ON TABLE appstore.inbox_in_flight TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_in_flight TO appstore_viewer;

GRANT SELECT ON TABLE appstore.inbox_partitions TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_partitions TO appstore_viewer;
GRANT SELECT ON TABLE appstore.inbox_partitions TO appstore_worker;

GRANT SELECT,DELETE,UPDATE ON TABLE appstore.inbox_ready TO appstore_worker;
GRANT SELECT ON TABLE appstore.inbox_ready TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_ready TO appstore_viewer;

GRANT SELECT ON TABLE appstore.inbox_status TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_status TO appstore_viewer;
GRANT SELECT ON TABLE appstore.inbox_status TO appstore_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.notifications_seen TO appstore_worker;
GRANT SELECT ON TABLE appstore.notifications_seen TO appstore_operator;
GRANT SELECT ON TABLE appstore.notifications_seen TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.outbox TO appstore_worker;

GRANT SELECT ON TABLE appstore.outbox_status TO appstore_operator;
GRANT SELECT ON TABLE appstore.outbox_status TO appstore_viewer;
GRANT SELECT ON TABLE appstore.outbox_status TO appstore_worker;

GRANT SELECT ON TABLE appstore.outcome_history TO appstore_worker;
GRANT SELECT ON TABLE appstore.outcome_history TO appstore_operator;
GRANT SELECT ON TABLE appstore.outcome_history TO appstore_viewer;

GRANT SELECT ON TABLE appstore.owner_links TO appstore_worker;
GRANT SELECT ON TABLE appstore.owner_links TO appstore_operator;
GRANT SELECT ON TABLE appstore.owner_links TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.receipt_submissions TO appstore_worker;
GRANT SELECT ON TABLE appstore.receipt_submissions TO appstore_operator;
GRANT SELECT ON TABLE appstore.receipt_submissions TO appstore_viewer;

GRANT SELECT ON TABLE appstore.retention TO appstore_operator;
GRANT SELECT ON TABLE appstore.retention TO appstore_viewer;
GRANT SELECT ON TABLE appstore.retention TO appstore_worker;

GRANT UPDATE(bodies) ON TABLE appstore.retention TO appstore_operator;

GRANT UPDATE(outcomes) ON TABLE appstore.retention TO appstore_operator;

GRANT UPDATE(rejected_bodies) ON TABLE appstore.retention TO appstore_operator;

GRANT UPDATE(rejected_outcomes) ON TABLE appstore.retention TO appstore_operator;

GRANT UPDATE(partition_events) ON TABLE appstore.retention TO appstore_operator;

GRANT SELECT ON TABLE appstore.schema_migrations TO appstore_worker;
GRANT SELECT ON TABLE appstore.schema_migrations TO appstore_operator;
GRANT SELECT ON TABLE appstore.schema_migrations TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.submissions TO appstore_worker;
GRANT SELECT ON TABLE appstore.submissions TO appstore_operator;
GRANT SELECT ON TABLE appstore.submissions TO appstore_viewer;

GRANT SELECT ON TABLE appstore.unmatched TO appstore_operator;
GRANT SELECT ON TABLE appstore.unmatched TO appstore_viewer;
GRANT SELECT ON TABLE appstore.unmatched TO appstore_worker;
