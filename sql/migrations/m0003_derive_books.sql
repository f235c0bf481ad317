-- Orders, claims, owners and contracts are functions of the registers and of the shop's commands. The worker's merge and create_order
-- both call derive_books: one home for the rules, and two commits at the same instant cannot miss each other, for each first locks the
-- same order and contract rows, in key order, and computes in a later statement (plpgsql: a new snapshot for each).

-- Transaction ids are numbers written as text: shorter ones are smaller.
CREATE FUNCTION appstore.transaction_number(transaction_id text) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN transaction_id ~ '^[0-9]{1,64}$' THEN transaction_id::numeric END
$$;

-- The period that pays each order: the first purchase, by (purchase_date, transaction id), whose first known token names the order and
-- whose product and bundle are the ordered ones. has_candidates: somebody tried to pay it.
CREATE FUNCTION appstore.payers(p_environment text, p_tokens uuid[])
RETURNS TABLE (no uuid, period_no uuid, has_candidates boolean)
LANGUAGE sql STABLE AS $$
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

-- What is known of paid periods. Several charges may name one period: the smallest transaction id is its trade number. A period is
-- refunded when every charge of it is, in full (a missing percentage means all of it).
CREATE FUNCTION appstore.paid_periods(p_environment text, p_period_nos uuid[])
RETURNS TABLE (period_no uuid, trade_no text, origin_no text, web_order_line_item_id text, product_id text, paid_at timestamptz,
               quantity integer, price bigint, currency text, is_subscription boolean, status text)
LANGUAGE sql STABLE AS $$
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

-- The user of a period that no token pays: the newest claim at or before its purchase, else the earliest one, else nobody yet.
CREATE FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT c.user_id
    FROM appstore.claims AS c
    WHERE c.environment = p_environment AND c.original_transaction_id = p_contract
    ORDER BY c.effective_at <= p_purchased_at DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.effective_at END DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.evidence END DESC,
             c.effective_at, c.evidence
    LIMIT 1
$$;

-- Until when a contract gives access, from its current period c and its renewal register s. It is no function of the clock: access is
-- active while now < until. A statement about the renewal counts once it is as new as the first sight of the current period.
CREATE FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN c.revocation_date IS NOT NULL AND (s.signed_date IS NULL OR c.signed_date > s.signed_date) THEN c.revocation_date
        WHEN s.signed_date >= c.first_signed_date AND s.status = 1 THEN greatest(c.expires_date, s.renewal_date)
        WHEN s.signed_date >= c.first_signed_date AND s.status = 4 THEN coalesce(s.grace_period_expires_date, c.expires_date)
        WHEN s.signed_date >= c.first_signed_date AND s.status IN (2, 3, 5)
            THEN least(coalesce(c.revocation_date, c.expires_date), s.signed_date)
        ELSE coalesce(c.revocation_date, c.expires_date)
    END
$$;

-- Brings the books of one environment up to date after these transactions and contracts moved, or these orders were made.
CREATE FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[] DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
