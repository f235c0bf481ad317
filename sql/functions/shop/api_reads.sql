CREATE OR REPLACE FUNCTION appstore.api_entitlements(key_hash bytea, environment appstore.environment, user_id text)
RETURNS TABLE (product_id text, entitlement text, active boolean, ends_at timestamptz, why text, in_grace boolean, will_renew boolean,
               original_transaction_id text, bundle_id text, seats jsonb, commitment_until timestamptz, commitment_will_renew boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{entitlements:read,transactions:submit,receipts:submit}',
                                                  ARRAY[api_entitlements.environment]);
BEGIN
    -- statement_timestamp(): with the volatile clock_timestamp() entitlements_at is not inlined, and reads the contracts of all users.
    RETURN QUERY
    SELECT e.product_id, e.entitlement, e.active, CASE WHEN isfinite(e.until) THEN e.until END, e.why, e.in_grace, e.will_renew,
           e.original_transaction_id, e.bundle_id, e.seats, e.commitment_until, e.commitment_will_renew
    FROM appstore.entitlements_at(statement_timestamp()) AS e
    WHERE e.environment = api_entitlements.environment AND e.user_id = api_entitlements.user_id
      AND (v_key.bundle_ids IS NULL OR e.bundle_id = ANY (v_key.bundle_ids))
    ORDER BY e.entitlement, e.original_transaction_id, e.product_id;
END
$$;
COMMENT ON FUNCTION appstore.api_entitlements IS
    'The entitlements of a user in the apps of the key, active and ended; ends_at is null where one does not end. Verb entitlements:read; the '
    'submitting verbs suffice as well, since the answer to a post contains its user''s entitlements.';

CREATE OR REPLACE FUNCTION appstore.api_subscription(key_hash bytea, environment appstore.environment, original_transaction_id text)
RETURNS TABLE (user_id text, bundle_id text, product_id text, product_type text, status integer, active boolean, ends_at timestamptz,
               will_renew boolean, renews_as text, expiration_intent integer, in_billing_retry boolean, grace_ends_at timestamptz,
               started_at timestamptz, period_started_at timestamptz, period_ends_at timestamptz, revoked_at timestamptz, transaction_id text,
               seats jsonb, commitment_until timestamptz, commitment_payments_left integer, commitment_will_renew boolean,
               commitment_price bigint, currency text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{subscriptions:read}', ARRAY[api_subscription.environment]);
BEGIN
    RETURN QUERY
    SELECT m.user_id, m.bundle_id, m.product_id, m.product_type, m.status,
           CASE WHEN m.access_until IS NOT NULL THEN appstore.is_active(statement_timestamp(), appstore.active_until(
               m.access_until, m.will_renew, m.status, m.revoked_at, c.is_upgraded, s.leeway)) END,
           CASE WHEN isfinite(m.access_until) THEN m.access_until END, m.will_renew,
           CASE WHEN is_v1 THEN l.auto_renew_product_id ELSE m.auto_renew_product_id END,
           CASE WHEN is_v1 THEN l.expiration_intent ELSE m.expiration_intent END,
           CASE WHEN is_v1 THEN l.is_in_billing_retry_period ELSE m.is_in_billing_retry_period END,
           CASE WHEN is_v1 THEN l.grace_period_expires_date ELSE m.grace_period_expires_date END,
           m.started_at, m.current_period_start, m.current_period_end, m.revoked_at, m.current_transaction_id,
           appstore.seats_of(m, c.multi_seat_info), m.commitment_until, m.commitment_payments_left, m.commitment_will_renew,
           (c.commitment_info ->> 'commitmentPrice')::bigint, c.currency
    FROM appstore.contracts AS m
    LEFT JOIN LATERAL (
        SELECT r.* FROM appstore.v1_renewals AS r
        WHERE r.original_transaction_id = m.original_transaction_id AND r.environment = m.environment AND r.bundle_id = m.bundle_id OFFSET 0
    ) AS l ON true
    CROSS JOIN LATERAL appstore.v1_counts(m, l) AS is_v1
    CROSS JOIN LATERAL (SELECT s.leeway FROM appstore.access_settings AS s WHERE s.is_only OFFSET 0) AS s
    LEFT JOIN LATERAL (
        SELECT t.is_upgraded, t.multi_seat_info, t.commitment_info, t.currency FROM appstore.transactions AS t
        WHERE t.transaction_id = m.current_transaction_id AND t.environment = m.environment OFFSET 0
    ) AS c ON true
    WHERE m.original_transaction_id = api_subscription.original_transaction_id AND m.environment = api_subscription.environment
      AND (v_key.bundle_ids IS NULL OR m.bundle_id = ANY (v_key.bundle_ids));
END
$$;
COMMENT ON FUNCTION appstore.api_subscription IS
    'A contract of an app of the key, with the register of its renewal that counts: that of JWS or of Notifications V1. Verb subscriptions:read.';

CREATE OR REPLACE FUNCTION appstore.api_receipt_charges(key_hash bytea, environment appstore.environment, transaction_ids text[], user_id text)
RETURNS TABLE (transaction_id text, original_transaction_id text, product_id text, owner text, may_finish boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{receipts:submit}', ARRAY[api_receipt_charges.environment]);
BEGIN
    RETURN QUERY
    SELECT t.transaction_id, t.original_transaction_id, t.product_id,
           CASE WHEN owner.user_id IS NULL THEN 'nobody' WHEN owner.user_id = api_receipt_charges.user_id THEN 'you' ELSE 'another' END,
           owner.user_id IS NOT NULL
    FROM unnest(api_receipt_charges.transaction_ids) WITH ORDINALITY AS asked (id, position)
    CROSS JOIN LATERAL (
        SELECT t.transaction_id, t.original_transaction_id, t.product_id, t.order_no, t.bundle_id FROM appstore.transactions AS t
        WHERE t.transaction_id = asked.id AND t.environment = api_receipt_charges.environment OFFSET 0
    ) AS t
    LEFT JOIN LATERAL (
        SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = t.order_no AND o.environment = api_receipt_charges.environment OFFSET 0
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT m.user_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = api_receipt_charges.environment OFFSET 0
    ) AS m ON true
    CROSS JOIN LATERAL (SELECT appstore.owner_of(o.user_id, m.user_id) AS user_id) AS owner
    WHERE v_key.bundle_ids IS NULL OR t.bundle_id = ANY (v_key.bundle_ids)
    ORDER BY asked.position;
END
$$;
COMMENT ON FUNCTION appstore.api_receipt_charges IS
    'Which of these transactions are known, of the apps of the key, in the order of the array, and their owner: you, another or nobody. A client '
    'may finish a transaction that is known and has an owner. Verb receipts:submit.';

CREATE OR REPLACE FUNCTION appstore.api_receipt_question(key_hash bytea, call_key text) RETURNS TABLE (is_open boolean, denied_because text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{events:read,receipts:submit}', '{}');
BEGIN
    RETURN QUERY
    SELECT CASE WHEN coalesce(c.fallback_event_id, c.answer_event_id) IS NOT NULL
                THEN NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id IN (c.answer_event_id, c.fallback_event_id))
                ELSE c.state = 'open' END,
           CASE WHEN c.state = 'refused' AND c.fallback_event_id IS NULL THEN c.reason END
    FROM appstore.outbox AS c
    WHERE c.call_key = api_receipt_question.call_key AND c.kind = 'verify_receipt'
      AND (v_key.bundle_ids IS NULL OR c.bundle_id = ANY (v_key.bundle_ids))
    ORDER BY c.call_id DESC
    LIMIT 1;
END
$$;
COMMENT ON FUNCTION appstore.api_receipt_question IS
    'The state of the latest call to Apple about a receipt; no row when there was none. is_open: neither Apple''s answer nor the fallback has an '
    'outcome yet; denied_because: the reason with which Apple refused the receipt. Verbs events:read and receipts:submit.';
