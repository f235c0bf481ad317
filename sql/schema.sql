-- The schema that the migrations make, dumped by PostgreSQL 15. Written by deploy/schema --write, compared by deploy/test.

CREATE SCHEMA appstore;

ALTER SCHEMA appstore OWNER TO appstore_owner;

CREATE DOMAIN appstore.environment AS text
	CONSTRAINT environment_check CHECK ((VALUE = ANY (ARRAY['Production'::text, 'Sandbox'::text])));

ALTER DOMAIN appstore.environment OWNER TO appstore_owner;

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
);

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
    signed_date timestamp with time zone NOT NULL,
    payload_hash bytea NOT NULL,
    first_signed_date timestamp with time zone NOT NULL,
    first_token uuid,
    first_token_signed_date timestamp with time zone,
    first_token_hash bytea,
    period_no uuid NOT NULL,
    is_subscription boolean NOT NULL,
    is_purchased boolean GENERATED ALWAYS AS ((in_app_ownership_type IS DISTINCT FROM 'FAMILY_SHARED'::text)) STORED NOT NULL,
    order_no uuid,
    named_no uuid,
    CONSTRAINT transactions_first_not_after_last CHECK ((first_signed_date <= signed_date)),
    CONSTRAINT transactions_first_token_whole CHECK ((((first_token IS NULL) = (first_token_signed_date IS NULL)) AND ((first_token IS NULL) = (first_token_hash IS NULL))))
);

ALTER TABLE appstore.transactions OWNER TO appstore_owner;

CREATE FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN c.revocation_date IS NOT NULL AND (s.signed_date IS NULL OR c.signed_date > s.signed_date) THEN c.revocation_date
        WHEN s.signed_date >= c.first_signed_date AND s.status = 1 THEN greatest(c.expires_date, s.renewal_date)
        WHEN s.signed_date >= c.first_signed_date AND s.status = 4 THEN coalesce(s.grace_period_expires_date, c.expires_date)
        WHEN s.signed_date >= c.first_signed_date AND s.status IN (2, 3, 5)
            THEN least(coalesce(c.revocation_date, c.expires_date), s.signed_date)
        ELSE coalesce(c.revocation_date, c.expires_date)
    END
$$;

ALTER FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions) OWNER TO appstore_owner;

CREATE FUNCTION appstore.create_order(user_id text, product_id text, no uuid DEFAULT gen_random_uuid(), bundle_id text DEFAULT NULL::text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_no     uuid := coalesce(create_order.no, gen_random_uuid());
    v_made   appstore.orders;
BEGIN
    IF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF product_id IS NULL OR octet_length(product_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'product_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- See derive_books: a Sandbox twin that is being inserted now must see this order, or be seen.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
    INSERT INTO appstore.orders AS o (environment, no, user_id, product_id, bundle_id, ordered_at)
    VALUES ('Production', v_no, create_order.user_id, create_order.product_id, create_order.bundle_id, clock_timestamp())
    ON CONFLICT (environment, no) DO UPDATE
    SET user_id = excluded.user_id, product_id = excluded.product_id, bundle_id = excluded.bundle_id, ordered_at = excluded.ordered_at
    WHERE o.ordered_at IS NULL;

    SELECT * INTO v_made FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no;
    IF (v_made.user_id, v_made.product_id, v_made.bundle_id)
       IS DISTINCT FROM (create_order.user_id, create_order.product_id, create_order.bundle_id) THEN
        RAISE EXCEPTION 'order % was made for another user, product or bundle', v_no USING ERRCODE = 'unique_violation';
    END IF;
    PERFORM appstore.derive_books('Production', '{}', '{}', ARRAY[v_no]);

    UPDATE appstore.orders AS twin
    SET user_id = v_made.user_id, product_id = v_made.product_id, bundle_id = v_made.bundle_id, ordered_at = v_made.ordered_at
    WHERE twin.environment = 'Sandbox' AND twin.no = v_no;
    IF FOUND THEN
        PERFORM appstore.derive_books('Sandbox', '{}', '{}', ARRAY[v_no]);
    END IF;
    RETURN v_no;
END
$$;

ALTER FUNCTION appstore.create_order(user_id text, product_id text, no uuid, bundle_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[] DEFAULT '{}'::uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_tokens    uuid[];   -- orders whose payer may have changed
    v_periods   uuid[];   -- periods whose order may have changed
    v_contracts text[];   -- contracts to lock and to bring up to date
    v_reclaimed text[];   -- contracts whose claims changed
BEGIN
    -- 1. Orders that these transactions name now, or named until now.
    SELECT coalesce(array_agg(DISTINCT named.no ORDER BY named.no), '{}') INTO v_tokens
    FROM (
        SELECT unnest(p_tokens) AS no
        UNION ALL
        SELECT t.first_token FROM appstore.transactions AS t
        WHERE t.environment = p_environment AND t.transaction_id = ANY (p_transaction_ids) AND t.is_purchased
        UNION ALL
        SELECT t.named_no FROM appstore.transactions AS t
        WHERE t.environment = p_environment AND t.transaction_id = ANY (p_transaction_ids)
    ) AS named
    WHERE named.no IS NOT NULL;

    -- 2. Lock them, in key order. Apple may know of an order first: then it has no user yet. A Sandbox purchase gets a twin of its own of
    --    the Production order; the advisory lock makes create_order and the twin's insertion see each other.
    IF cardinality(v_tokens) > 0 THEN
        IF p_environment = 'Sandbox' THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(token.no::text, 0)) FROM unnest(v_tokens) AS token (no);
        END IF;
        INSERT INTO appstore.orders (environment, no, user_id, product_id, bundle_id, ordered_at)
        SELECT p_environment, token.no, ordered.user_id, ordered.product_id, ordered.bundle_id, ordered.ordered_at
        FROM unnest(v_tokens) AS token (no)
        LEFT JOIN appstore.orders AS ordered
            ON p_environment = 'Sandbox' AND ordered.environment = 'Production' AND ordered.no = token.no AND ordered.ordered_at IS NOT NULL
        ORDER BY token.no
        ON CONFLICT (environment, no) DO NOTHING;
        PERFORM FROM appstore.orders AS o WHERE o.environment = p_environment AND o.no = ANY (v_tokens) ORDER BY o.no FOR UPDATE;
    END IF;

    -- 3. The periods concerned: those of the transactions, and those that paid or now pay the orders.
    SELECT coalesce(array_agg(DISTINCT concerned.period_no), '{}') INTO v_periods
    FROM (
        SELECT t.period_no FROM appstore.transactions AS t
        WHERE t.environment = p_environment AND t.transaction_id = ANY (p_transaction_ids)
        UNION ALL
        SELECT o.period_no FROM appstore.orders AS o WHERE o.environment = p_environment AND o.no = ANY (v_tokens)
        UNION ALL
        SELECT payer.period_no FROM appstore.payers(p_environment, v_tokens) AS payer
    ) AS concerned
    WHERE concerned.period_no IS NOT NULL;

    -- 4. Lock their contracts, in key order.
    SELECT coalesce(array_agg(DISTINCT concerned.contract_id ORDER BY concerned.contract_id), '{}') INTO v_contracts
    FROM (
        SELECT unnest(p_contract_ids) AS contract_id
        UNION ALL
        SELECT t.original_transaction_id FROM appstore.transactions AS t
        WHERE t.environment = p_environment AND t.period_no = ANY (v_periods) AND t.is_subscription
    ) AS concerned;
    INSERT INTO appstore.member_contracts (environment, contract_id)
    SELECT p_environment, contract.id FROM unnest(v_contracts) AS contract (id) ORDER BY contract.id
    ON CONFLICT (environment, contract_id) DO NOTHING;
    PERFORM FROM appstore.member_contracts AS m
    WHERE m.environment = p_environment AND m.contract_id = ANY (v_contracts) ORDER BY m.contract_id FOR UPDATE;

    -- 5. Orders by token: what pays them.
    UPDATE appstore.orders AS o
    SET status = coalesce(p.status, 'pending'),
        reason = CASE WHEN p.period_no IS NULL AND payer.has_candidates THEN 'product_mismatch' END,
        period_no = p.period_no, trade_no = p.trade_no, origin_no = p.origin_no, web_order_line_item_id = p.web_order_line_item_id,
        paid_product_id = p.product_id, paid_at = p.paid_at, quantity = p.quantity, price = p.price, currency = p.currency
    FROM appstore.payers(p_environment, v_tokens) AS payer
    LEFT JOIN appstore.paid_periods(p_environment, v_periods) AS p ON p.period_no = payer.period_no
    WHERE o.environment = p_environment AND o.no = payer.no
      AND (o.status, o.reason, o.period_no, o.trade_no, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency) IS DISTINCT FROM
          (coalesce(p.status, 'pending'), CASE WHEN p.period_no IS NULL AND payer.has_candidates THEN 'product_mismatch' END,
           p.period_no, p.trade_no, p.product_id, p.paid_at, p.quantity, p.price, p.currency);

    -- An order that neither the shop made nor any first token names is none: its only token turned out to be a later one.
    DELETE FROM appstore.orders AS o
    USING appstore.payers(p_environment, v_tokens) AS payer
    WHERE o.environment = p_environment AND o.no = payer.no AND o.ordered_at IS NULL AND NOT payer.has_candidates;

    -- 6. Every other paid period has an order under its own number, and only those.
    INSERT INTO appstore.orders AS o (environment, no, status, period_no, trade_no, origin_no, web_order_line_item_id, paid_product_id,
                                      paid_at, quantity, price, currency)
    SELECT p_environment, p.period_no, p.status, p.period_no, p.trade_no, p.origin_no, p.web_order_line_item_id, p.product_id,
           p.paid_at, p.quantity, p.price, p.currency
    FROM appstore.paid_periods(p_environment, v_periods) AS p
    WHERE NOT EXISTS (
        SELECT FROM appstore.orders AS by_token
        WHERE by_token.environment = p_environment AND by_token.period_no = p.period_no AND by_token.no <> p.period_no)
    ORDER BY p.period_no
    ON CONFLICT (environment, no) DO UPDATE
    SET status = excluded.status, trade_no = excluded.trade_no, paid_product_id = excluded.paid_product_id, paid_at = excluded.paid_at,
        quantity = excluded.quantity, price = excluded.price, currency = excluded.currency
    WHERE (o.status, o.trade_no, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency) IS DISTINCT FROM
          (excluded.status, excluded.trade_no, excluded.paid_product_id, excluded.paid_at, excluded.quantity, excluded.price,
           excluded.currency);

    DELETE FROM appstore.orders AS o
    WHERE o.environment = p_environment AND o.no = ANY (v_periods) AND o.no = o.period_no
      AND (EXISTS (SELECT FROM appstore.orders AS by_token
                   WHERE by_token.environment = p_environment AND by_token.period_no = o.no AND by_token.no <> o.no)
           OR NOT EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.environment = p_environment AND t.period_no = o.no AND t.is_purchased));

    -- 7. Each charge points to its order: the one its own first token names, else the one that its period paid.
    UPDATE appstore.transactions AS t
    SET order_no = pointed.order_no, named_no = t.first_token
    FROM (
        SELECT DISTINCT ON (charge.transaction_id) charge.transaction_id, o.no AS order_no
        FROM appstore.transactions AS charge
        LEFT JOIN appstore.orders AS o
            ON charge.is_purchased AND o.environment = p_environment AND o.period_no = charge.period_no
        WHERE charge.environment = p_environment AND charge.period_no = ANY (v_periods)
        ORDER BY charge.transaction_id, o.no = charge.first_token DESC NULLS LAST, o.no
    ) AS pointed
    WHERE t.environment = p_environment AND t.transaction_id = pointed.transaction_id
      AND (t.order_no, t.named_no) IS DISTINCT FROM (pointed.order_no, t.first_token);

    -- 8. A paid token of a known user is a claim to the contract, effective at the purchase.
    WITH wanted AS (
        SELECT 'order:' || o.no AS evidence, o.origin_no, o.user_id, o.paid_at
        FROM appstore.orders AS o
        JOIN appstore.paid_periods(p_environment, v_periods) AS p ON p.period_no = o.period_no AND p.is_subscription
        WHERE o.environment = p_environment AND o.no = ANY (v_tokens) AND o.user_id IS NOT NULL
    ), made AS (
        INSERT INTO appstore.claims AS c (environment, evidence, original_transaction_id, user_id, effective_at)
        SELECT p_environment, wanted.evidence, wanted.origin_no, wanted.user_id, wanted.paid_at FROM wanted ORDER BY wanted.evidence
        ON CONFLICT (environment, evidence) DO UPDATE
        SET original_transaction_id = excluded.original_transaction_id, user_id = excluded.user_id, effective_at = excluded.effective_at
        WHERE (c.original_transaction_id, c.user_id, c.effective_at)
              IS DISTINCT FROM (excluded.original_transaction_id, excluded.user_id, excluded.effective_at)
        RETURNING c.original_transaction_id
    ), dropped AS (
        DELETE FROM appstore.claims AS c
        WHERE c.environment = p_environment
          AND c.evidence = ANY (SELECT 'order:' || token.no FROM unnest(v_tokens) AS token (no))
          AND NOT EXISTS (SELECT FROM wanted WHERE wanted.evidence = c.evidence)
        RETURNING c.original_transaction_id
    ), moved AS ( -- the contract that a claim moved away from
        SELECT c.original_transaction_id
        FROM appstore.claims AS c JOIN wanted ON wanted.evidence = c.evidence
        WHERE c.environment = p_environment AND c.original_transaction_id <> wanted.origin_no
    )
    SELECT coalesce(array_agg(DISTINCT changed.original_transaction_id), '{}') INTO v_reclaimed
    FROM (TABLE made UNION ALL TABLE dropped UNION ALL TABLE moved) AS changed;

    -- 9. Users of the periods that no token pays.
    UPDATE appstore.orders AS o
    SET user_id = found.user_id
    FROM (
        SELECT derived.no, appstore.period_user(p_environment, derived.origin_no, derived.paid_at) AS user_id
        FROM appstore.orders AS derived
        WHERE derived.environment = p_environment AND derived.no = derived.period_no
          AND (derived.no = ANY (v_periods) OR derived.origin_no = ANY (v_reclaimed))
    ) AS found
    WHERE o.environment = p_environment AND o.no = found.no AND o.user_id IS DISTINCT FROM found.user_id;

    -- 10. The contracts: owner, current period, access. A revoked current period falls back to the newest unrevoked one that ended when it
    --     began: a refund of a renewal charged ahead does not end the time that was paid for.
    UPDATE appstore.member_contracts AS m
    SET user_id = (SELECT c.user_id FROM appstore.claims AS c
                   WHERE c.environment = p_environment AND c.original_transaction_id = m.contract_id
                   ORDER BY c.effective_at DESC, c.evidence DESC LIMIT 1),
        bundle_id = now_known.bundle_id, product_id = now_known.product_id, status = now_known.status,
        will_renew = now_known.will_renew, started_at = now_known.started_at,
        current_transaction_id = now_known.transaction_id, current_period_start = now_known.purchase_date,
        current_period_end = now_known.expires_date, access_until = now_known.access_until
    FROM (
        SELECT contract.id, (period.charge).bundle_id, coalesce((period.charge).product_id, renewal.product_id) AS product_id,
               renewal.status, renewal.auto_renew_status = 1 AS will_renew, (period.charge).transaction_id,
               (period.charge).purchase_date, (period.charge).expires_date,
               (SELECT min(t.purchase_date) FROM appstore.transactions AS t
                WHERE t.environment = p_environment AND t.original_transaction_id = contract.id) AS started_at,
               greatest(
                   appstore.access_until(period.charge, renewal),
                   CASE WHEN (period.charge).revocation_date IS NOT NULL THEN (
                       SELECT max(t.expires_date) FROM appstore.transactions AS t
                       WHERE t.environment = p_environment AND t.original_transaction_id = contract.id
                         AND t.revocation_date IS NULL AND t.expires_date <= (period.charge).purchase_date)
                   END) AS access_until
        FROM unnest(v_contracts) AS contract (id)
        LEFT JOIN LATERAL (
            SELECT t AS charge FROM appstore.transactions AS t
            WHERE t.environment = p_environment AND t.original_transaction_id = contract.id
            ORDER BY t.purchase_date DESC, t.expires_date DESC NULLS LAST, appstore.transaction_number(t.transaction_id) DESC NULLS LAST,
                     t.transaction_id DESC
            LIMIT 1
        ) AS period ON true
        LEFT JOIN appstore.subscriptions AS renewal
            ON renewal.environment = p_environment AND renewal.original_transaction_id = contract.id
    ) AS now_known
    WHERE m.environment = p_environment AND m.contract_id = now_known.id;
END
$$;

ALTER FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.discard(event_id bigint, reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_attempts integer;
    v_error    text;
    v_settled  appstore.outcomes;
    v_run      integer;
BEGIN
    IF reason IS NULL OR btrim(reason) = '' THEN
        RAISE EXCEPTION 'say why event % is discarded', event_id USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Waits for a worker that has it in its hands.
    DELETE FROM appstore.inbox_ready AS r WHERE r.event_id = discard.event_id RETURNING r.attempts, r.last_error INTO v_attempts, v_error;
    IF NOT FOUND THEN
        DELETE FROM appstore.outcomes AS o
        WHERE o.event_id = discard.event_id AND o.result IN ('failed', 'rejected', 'unhandled') RETURNING o.* INTO v_settled;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'event % is neither waiting nor failed, rejected or unhandled', event_id USING ERRCODE = 'no_data_found';
        END IF;
        v_attempts := v_settled.attempts;
        v_error := v_settled.last_error;
        INSERT INTO appstore.outcome_history SELECT v_settled.*, clock_timestamp(), session_user;
    END IF;
    SELECT coalesce(max(h.run), 0) + 1 INTO v_run FROM appstore.outcome_history AS h WHERE h.event_id = discard.event_id;
    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
                                   notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id,
                                   original_transaction_id)
    SELECT i.event_id, i.source, i.received_at, clock_timestamp(), v_run, v_attempts, 'discarded', discard.reason, v_error,
           v_settled.notification_type, v_settled.subtype, v_settled.notification_uuid, v_settled.environment, v_settled.bundle_id,
           v_settled.transaction_id, v_settled.original_transaction_id
    FROM appstore.inbox AS i WHERE i.event_id = discard.event_id;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
    VALUES (clock_timestamp(), session_user, 'discard', ARRAY[discard.event_id], discard.reason);
END
$$;

ALTER FUNCTION appstore.discard(event_id bigint, reason text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.paid_periods(p_environment text, p_period_nos uuid[]) RETURNS TABLE(period_no uuid, trade_no text, origin_no text, web_order_line_item_id text, product_id text, paid_at timestamp with time zone, quantity integer, price bigint, currency text, is_subscription boolean, status text)
    LANGUAGE sql STABLE
    AS $$
    SELECT DISTINCT ON (t.period_no)
        t.period_no, t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.product_id, t.purchase_date,
        t.quantity, t.price, t.currency, t.is_subscription,
        CASE WHEN bool_and(t.revocation_date IS NOT NULL AND coalesce(t.revocation_percentage, 100000) >= 100000) OVER period THEN 'refunded'
             WHEN bool_or(t.revocation_date IS NOT NULL) OVER period THEN 'partly_refunded'
             ELSE 'paid' END
    FROM appstore.transactions AS t
    WHERE t.environment = p_environment AND t.period_no = ANY (p_period_nos) AND t.is_purchased
    WINDOW period AS (PARTITION BY t.period_no)
    ORDER BY t.period_no, appstore.transaction_number(t.transaction_id), t.transaction_id
$$;

ALTER FUNCTION appstore.paid_periods(p_environment text, p_period_nos uuid[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.payers(p_environment text, p_tokens uuid[]) RETURNS TABLE(no uuid, period_no uuid, has_candidates boolean)
    LANGUAGE sql STABLE
    AS $$
    SELECT o.no, payer.period_no, EXISTS (
        SELECT FROM appstore.transactions AS t WHERE t.environment = p_environment AND t.first_token = o.no AND t.is_purchased)
    FROM appstore.orders AS o
    LEFT JOIN LATERAL (
        SELECT t.period_no
        FROM appstore.transactions AS t
        WHERE t.environment = p_environment AND t.first_token = o.no AND t.is_purchased
          AND (o.product_id IS NULL OR o.product_id = t.product_id)
          AND (o.bundle_id IS NULL OR o.bundle_id = t.bundle_id)
        ORDER BY t.purchase_date, appstore.transaction_number(t.transaction_id), t.transaction_id
        LIMIT 1
    ) AS payer ON true
    WHERE o.environment = p_environment AND o.no = ANY (p_tokens)
$$;

ALTER FUNCTION appstore.payers(p_environment text, p_tokens uuid[]) OWNER TO appstore_owner;

CREATE FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT c.user_id
    FROM appstore.claims AS c
    WHERE c.environment = p_environment AND c.original_transaction_id = p_contract
    ORDER BY c.effective_at <= p_purchased_at DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.effective_at END DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.evidence END DESC,
             c.effective_at, c.evidence
    LIMIT 1
$$;

ALTER FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) OWNER TO appstore_owner;

CREATE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2'::text) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    IF source IS DISTINCT FROM 'notification_v2' THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
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

CREATE FUNCTION appstore.requeue(event_id bigint, note text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_waiting bigint;
BEGIN
    SELECT r.event_id INTO v_waiting FROM appstore.inbox_ready AS r WHERE r.event_id = requeue.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE appstore.inbox_ready AS r SET run_at = clock_timestamp(), attempts = 0, is_suspect = false
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
    AS $$
#variable_conflict use_column
DECLARE
    v_events bigint[];
    v_filter jsonb := jsonb_strip_nulls(jsonb_build_object(
        'outcome', outcome, 'reason', reason, 'notification_type', notification_type, 'subtype', subtype, 'environment', environment,
        'bundle_id', bundle_id, 'received_from', received_from, 'received_before', received_before));
BEGIN
    IF v_filter = '{}' THEN
        RAISE EXCEPTION 'name at least one condition: outcome, reason, notification_type, subtype, environment, bundle_id, received_from, received_before'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF outcome IS NOT NULL AND outcome NOT IN ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected', 'failed',
                                                  'discarded') THEN
        RAISE EXCEPTION 'outcome % is none of applied, superseded, no_effect, duplicate, unhandled, rejected, failed, discarded',
            quote_literal(outcome) USING ERRCODE = 'invalid_parameter_value';
    ELSIF max_events IS NULL OR max_events NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000: a larger repair is made in several calls' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT coalesce(array_agg(found.event_id), '{}') INTO v_events
    FROM (
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE (requeue.outcome IS NULL OR o.result = requeue.outcome)
          AND (requeue.reason IS NULL OR o.reason = requeue.reason)
          AND (requeue.notification_type IS NULL OR o.notification_type = requeue.notification_type)
          AND (requeue.subtype IS NULL OR o.subtype = requeue.subtype)
          AND (requeue.environment IS NULL OR o.environment = requeue.environment)
          AND (requeue.bundle_id IS NULL OR o.bundle_id = requeue.bundle_id)
          AND (requeue.received_from IS NULL OR o.received_at >= requeue.received_from)
          AND (requeue.received_before IS NULL OR o.received_at < requeue.received_before)
        ORDER BY o.event_id
        LIMIT requeue.max_events
    ) AS found;
    IF dry_run THEN
        RETURN cardinality(v_events);
    END IF;
    RETURN appstore.requeue_settled(v_events, requeue.note, v_filter);
END
$$;

ALTER FUNCTION appstore.requeue(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    v_moved bigint[];
BEGIN
    WITH locked AS ( -- in key order, as every writer
        SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (event_ids) ORDER BY o.event_id FOR UPDATE
    ), taken AS (
        DELETE FROM appstore.outcomes AS o USING locked WHERE o.event_id = locked.event_id RETURNING o.*
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT taken.*, clock_timestamp(), session_user FROM taken
    ), put_back AS (
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT i.event_id, clock_timestamp(), octet_length(i.body)
        FROM appstore.inbox AS i JOIN taken ON taken.event_id = i.event_id
        RETURNING inbox_ready.event_id
    )
    SELECT coalesce(array_agg(put_back.event_id ORDER BY put_back.event_id), '{}') INTO v_moved FROM put_back;
    IF cardinality(v_moved) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'requeue', v_moved, requeue_settled.note, requeue_settled.filter);
    END IF;
    RETURN cardinality(v_moved);
END
$$;

ALTER FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) OWNER TO appstore_owner;

CREATE FUNCTION appstore.timeline(environment text, original_transaction_id text) RETURNS TABLE(occurred_at timestamp with time zone, learned_at timestamp with time zone, event_id bigint, what text, transaction_id text, product_id text, order_no uuid, user_id text)
    LANGUAGE sql STABLE
    AS $$
    SELECT e.occurred_at, o.received_at, e.event_id, e.kind, e.transaction_id, e.product_id, e.order_no, e.user_id
    FROM appstore.effects AS e
    LEFT JOIN appstore.outcomes AS o ON o.event_id = e.event_id
    WHERE e.environment = timeline.environment AND e.original_transaction_id = timeline.original_transaction_id
    ORDER BY e.occurred_at, e.effect_id
$$;

ALTER FUNCTION appstore.timeline(environment text, original_transaction_id text) OWNER TO appstore_owner;

CREATE FUNCTION appstore.transaction_number(transaction_id text) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
    SELECT CASE WHEN transaction_id ~ '^[0-9]{1,64}$' THEN transaction_id::numeric END
$_$;

ALTER FUNCTION appstore.transaction_number(transaction_id text) OWNER TO appstore_owner;

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
    user_id text
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
);
ALTER TABLE ONLY appstore.inbox_default ALTER COLUMN body SET STORAGE EXTERNAL;

ALTER TABLE appstore.inbox_default OWNER TO appstore_owner;

CREATE TABLE appstore.inbox_in_flight (
    lane uuid NOT NULL,
    event_ids bigint[] NOT NULL,
    started_at timestamp with time zone NOT NULL
);

ALTER TABLE appstore.inbox_in_flight OWNER TO appstore_owner;

CREATE TABLE appstore.inbox_ready (
    event_id bigint NOT NULL,
    run_at timestamp with time zone NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    bytes integer NOT NULL,
    is_suspect boolean DEFAULT false NOT NULL,
    last_error text,
    CONSTRAINT inbox_ready_attempts_not_negative CHECK ((attempts >= 0))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

ALTER TABLE appstore.inbox_ready OWNER TO appstore_owner;

CREATE VIEW appstore.inbox_status AS
 SELECT r.event_id,
    i.source,
    i.received_at,
        CASE
            WHEN (r.attempts = 0) THEN 'ready'::text
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
   FROM (appstore.inbox_ready r
     JOIN appstore.inbox i ON ((i.event_id = r.event_id)))
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
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE appstore.member_contracts OWNER TO appstore_owner;

CREATE TABLE appstore.notifications_seen (
    environment appstore.environment NOT NULL,
    notification_uuid text NOT NULL,
    first_event_id bigint NOT NULL
);

ALTER TABLE appstore.notifications_seen OWNER TO appstore_owner;

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

CREATE TABLE appstore.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE appstore.schema_migrations OWNER TO appstore_owner;

CREATE VIEW appstore.unmatched AS
 SELECT o.environment,
    o.no,
    o.reason,
    t.transaction_id,
    t.original_transaction_id,
    t.product_id,
    t.purchase_date,
    ((('The order is for '::text || o.product_id) || COALESCE((' of '::text || o.bundle_id), ''::text)) || ': make a new order, or refund.'::text) AS resolution
   FROM (appstore.orders o
     JOIN appstore.transactions t ON ((((t.environment)::text = (o.environment)::text) AND (t.first_token = o.no) AND t.is_purchased)))
  WHERE (o.reason IS NOT NULL)
UNION ALL
 SELECT o.environment,
    o.no,
    'no_user'::text AS reason,
    o.trade_no AS transaction_id,
    o.origin_no AS original_transaction_id,
    o.paid_product_id AS product_id,
    o.paid_at AS purchase_date,
        CASE
            WHEN (o.no = o.period_no) THEN 'No order is known for this contract: it resolves when one is.'::text
            ELSE 'Call create_order with this number.'::text
        END AS resolution
   FROM appstore.orders o
  WHERE ((o.status <> 'pending'::text) AND (o.user_id IS NULL));

ALTER TABLE appstore.unmatched OWNER TO appstore_owner;

ALTER TABLE ONLY appstore.inbox ATTACH PARTITION appstore.inbox_default DEFAULT;

ALTER TABLE ONLY appstore.inbox ALTER COLUMN event_id SET DEFAULT nextval('appstore.inbox_event_id'::regclass);

ALTER TABLE ONLY appstore.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (audit_id);

ALTER TABLE ONLY appstore.claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (environment, evidence);

ALTER TABLE ONLY appstore.effects
    ADD CONSTRAINT effects_pkey PRIMARY KEY (environment, kind, effect_key);

ALTER TABLE ONLY appstore.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_default
    ADD CONSTRAINT inbox_default_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.inbox_in_flight
    ADD CONSTRAINT inbox_in_flight_pkey PRIMARY KEY (lane);

ALTER TABLE ONLY appstore.inbox_ready
    ADD CONSTRAINT inbox_ready_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.member_contracts
    ADD CONSTRAINT member_contracts_pkey PRIMARY KEY (environment, contract_id);

ALTER TABLE ONLY appstore.notifications_seen
    ADD CONSTRAINT notifications_seen_pkey PRIMARY KEY (environment, notification_uuid);

ALTER TABLE ONLY appstore.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (environment, no);

ALTER TABLE ONLY appstore.outcome_history
    ADD CONSTRAINT outcome_history_pkey PRIMARY KEY (event_id, run);

ALTER TABLE ONLY appstore.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY appstore.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY appstore.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (environment, original_transaction_id);

ALTER TABLE ONLY appstore.transactions
    ADD CONSTRAINT transactions_pkey PRIMARY KEY (environment, transaction_id);

CREATE INDEX claims_by_contract ON appstore.claims USING btree (environment, original_transaction_id, effective_at DESC);

CREATE INDEX effects_by_contract ON appstore.effects USING btree (environment, original_transaction_id, occurred_at);

CREATE INDEX inbox_ready_by_run_at ON appstore.inbox_ready USING btree (run_at, event_id);

CREATE INDEX member_contracts_by_user ON appstore.member_contracts USING btree (environment, user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX orders_by_contract ON appstore.orders USING btree (environment, origin_no) WHERE (origin_no IS NOT NULL);

CREATE INDEX orders_by_period ON appstore.orders USING btree (environment, period_no) WHERE (period_no IS NOT NULL);

CREATE INDEX orders_by_user ON appstore.orders USING btree (environment, user_id) WHERE (user_id IS NOT NULL);

CREATE INDEX outcomes_by_contract ON appstore.outcomes USING btree (environment, original_transaction_id) WHERE (original_transaction_id IS NOT NULL);

CREATE INDEX outcomes_needing_attention ON appstore.outcomes USING btree (result, settled_at) WHERE (result = ANY (ARRAY['failed'::text, 'rejected'::text, 'unhandled'::text, 'discarded'::text]));

CREATE INDEX transactions_by_contract ON appstore.transactions USING btree (environment, original_transaction_id, purchase_date DESC);

CREATE INDEX transactions_by_first_token ON appstore.transactions USING btree (environment, first_token, purchase_date) WHERE (first_token IS NOT NULL);

CREATE INDEX transactions_by_period ON appstore.transactions USING btree (environment, period_no);

ALTER INDEX appstore.inbox_pkey ATTACH PARTITION appstore.inbox_default_pkey;

GRANT USAGE ON SCHEMA appstore TO appstore_ingest;
GRANT USAGE ON SCHEMA appstore TO appstore_worker;
GRANT USAGE ON SCHEMA appstore TO appstore_operator;
GRANT USAGE ON SCHEMA appstore TO appstore_viewer;
GRANT USAGE ON SCHEMA appstore TO appstore_backend;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.subscriptions TO appstore_worker;
GRANT SELECT ON TABLE appstore.subscriptions TO appstore_operator;
GRANT SELECT ON TABLE appstore.subscriptions TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.transactions TO appstore_worker;
GRANT SELECT ON TABLE appstore.transactions TO appstore_operator;
GRANT SELECT ON TABLE appstore.transactions TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.create_order(user_id text, product_id text, no uuid, bundle_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.create_order(user_id text, product_id text, no uuid, bundle_id text) TO appstore_backend;

REVOKE ALL ON FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.discard(event_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.discard(event_id bigint, reason text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.paid_periods(p_environment text, p_period_nos uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.paid_periods(p_environment text, p_period_nos uuid[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.payers(p_environment text, p_tokens uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.payers(p_environment text, p_tokens uuid[]) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamp with time zone) TO appstore_worker;

REVOKE ALL ON FUNCTION appstore.receive(bodies bytea[], source text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.receive(bodies bytea[], source text) TO appstore_ingest;

REVOKE ALL ON FUNCTION appstore.requeue(event_id bigint, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.requeue(event_id bigint, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.requeue(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.requeue(outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamp with time zone, received_before timestamp with time zone, max_events integer, dry_run boolean, note text) TO appstore_operator;

REVOKE ALL ON FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION appstore.timeline(environment text, original_transaction_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.timeline(environment text, original_transaction_id text) TO appstore_operator;
GRANT ALL ON FUNCTION appstore.timeline(environment text, original_transaction_id text) TO appstore_viewer;

REVOKE ALL ON FUNCTION appstore.transaction_number(transaction_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION appstore.transaction_number(transaction_id text) TO appstore_worker;

GRANT SELECT ON TABLE appstore.audit_log TO appstore_operator;
GRANT SELECT ON TABLE appstore.audit_log TO appstore_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.claims TO appstore_worker;
GRANT SELECT ON TABLE appstore.claims TO appstore_operator;
GRANT SELECT ON TABLE appstore.claims TO appstore_viewer;

GRANT SELECT,INSERT ON TABLE appstore.effects TO appstore_worker;
GRANT SELECT ON TABLE appstore.effects TO appstore_operator;
GRANT SELECT ON TABLE appstore.effects TO appstore_viewer;

GRANT SELECT,INSERT ON TABLE appstore.outcomes TO appstore_worker;
GRANT SELECT ON TABLE appstore.outcomes TO appstore_operator;
GRANT SELECT ON TABLE appstore.outcomes TO appstore_viewer;

GRANT SELECT ON TABLE appstore.failed TO appstore_operator;
GRANT SELECT ON TABLE appstore.failed TO appstore_viewer;
GRANT SELECT ON TABLE appstore.failed TO appstore_worker;

GRANT SELECT ON TABLE appstore.inbox TO appstore_worker;

GRANT SELECT,INSERT,DELETE ON TABLE appstore.inbox_in_flight TO appstore_worker;
GRANT SELECT ON TABLE appstore.inbox_in_flight TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_in_flight TO appstore_viewer;

GRANT SELECT,DELETE,UPDATE ON TABLE appstore.inbox_ready TO appstore_worker;
GRANT SELECT ON TABLE appstore.inbox_ready TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_ready TO appstore_viewer;

GRANT SELECT ON TABLE appstore.inbox_status TO appstore_operator;
GRANT SELECT ON TABLE appstore.inbox_status TO appstore_viewer;
GRANT SELECT ON TABLE appstore.inbox_status TO appstore_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.member_contracts TO appstore_worker;
GRANT SELECT ON TABLE appstore.member_contracts TO appstore_operator;
GRANT SELECT ON TABLE appstore.member_contracts TO appstore_viewer;

GRANT SELECT,INSERT,UPDATE ON TABLE appstore.notifications_seen TO appstore_worker;
GRANT SELECT ON TABLE appstore.notifications_seen TO appstore_operator;
GRANT SELECT ON TABLE appstore.notifications_seen TO appstore_viewer;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE appstore.orders TO appstore_worker;
GRANT SELECT ON TABLE appstore.orders TO appstore_operator;
GRANT SELECT ON TABLE appstore.orders TO appstore_viewer;

GRANT SELECT ON TABLE appstore.outcome_history TO appstore_worker;
GRANT SELECT ON TABLE appstore.outcome_history TO appstore_operator;
GRANT SELECT ON TABLE appstore.outcome_history TO appstore_viewer;

GRANT SELECT ON TABLE appstore.schema_migrations TO appstore_worker;
GRANT SELECT ON TABLE appstore.schema_migrations TO appstore_operator;
GRANT SELECT ON TABLE appstore.schema_migrations TO appstore_viewer;

GRANT SELECT ON TABLE appstore.unmatched TO appstore_operator;
GRANT SELECT ON TABLE appstore.unmatched TO appstore_viewer;
GRANT SELECT ON TABLE appstore.unmatched TO appstore_worker;
