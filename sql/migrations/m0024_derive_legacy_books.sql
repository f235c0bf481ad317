-- The rules of the books, with the legacy half: which half of a transaction and which statement of a renewal counts, until when that gives
-- access, and whose a contract is that somebody posted a receipt of.
--
-- What is replaced here differs from the definition before only where the legacy half is named.

-- Whether the legacy register is what is known last of a renewal: the later one counts, the JWS's on a tie.
CREATE FUNCTION appstore.legacy_counts(s appstore.subscriptions, l appstore.legacy_renewals) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT l.stated_at IS NOT NULL AND (s.signed_date IS NULL OR l.stated_at > s.signed_date)
$$;

-- The status of a renewal in the words of notifications V2; the legacy ones have none, and say as much by their members.
CREATE FUNCTION appstore.renewal_status(s appstore.subscriptions, l appstore.legacy_renewals) RETURNS integer
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN NOT appstore.legacy_counts(s, l) THEN s.status
        WHEN l.is_in_billing_retry_period AND l.grace_period_expires_date IS NOT NULL THEN 4
        WHEN l.is_in_billing_retry_period THEN 3
        WHEN l.expiration_intent IS NOT NULL THEN 2
    END
$$;

-- Until when a contract gives access, from its current charge c and its renewal registers s (JWS) and l (legacy). It is no function of the
-- clock: access is active while now < until. A statement about the renewal counts once it is as new as the first sight of the current period.
-- A legacy one can give the days of grace, and take nothing: only a shared secret vouches for it, and what ends is in the receipt. Apple's
-- longest grace is 28 days, so that beyond 30 after the current period it is of none; of an earlier period it is over by then. It gives none
-- after a revocation, nor against a status 5 that Apple signed.
DROP FUNCTION appstore.access_until(appstore.transactions, appstore.subscriptions);
CREATE FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions, l appstore.legacy_renewals) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
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

CREATE OR REPLACE FUNCTION appstore.claims_of(p_environment text, p_contract text) RETURNS TABLE(evidence text, user_id text, effective_at timestamp with time zone)
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

-- A receipt may learn late that a purchase was a family member's: what the charge named before is looked at all the same.
CREATE OR REPLACE FUNCTION appstore.books_named(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[]) RETURNS TABLE(tokens uuid[], contracts text[])
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
                 SELECT charge.left_contract FROM charge
                 WHERE EXISTS (SELECT FROM appstore.member_contracts AS m
                               WHERE m.contract_id = charge.left_contract AND m.environment = p_environment OFFSET 0)
                 ORDER BY id)
$$;

DROP FUNCTION appstore.books_concerned(text, text[], text[], uuid[], text[]);
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

CREATE OR REPLACE FUNCTION appstore.derive_books(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[] DEFAULT '{}'::uuid[], p_renewals text[] DEFAULT '{}'::text[]) RETURNS void
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

        -- 5. Each charge points to its order: the one its own first token names, else the one that its period paid.
        UPDATE appstore.transactions AS t
        SET order_no = (SELECT o.no FROM appstore.orders AS o
                        WHERE o.period_no = t.period_no AND o.environment = p_environment AND t.is_purchased
                        ORDER BY o.no IS NOT DISTINCT FROM t.first_token DESC, o.no LIMIT 1),
            named_no = CASE WHEN t.is_purchased THEN t.first_token END
        WHERE t.ctid = ANY (ARRAY(
            SELECT charge.ctid
            FROM unnest(v_periods) AS period (no) CROSS JOIN LATERAL (
                SELECT known.ctid, known.first_token, known.is_purchased, known.order_no, known.named_no
                FROM appstore.transactions AS known WHERE known.period_no = period.no AND known.environment = p_environment OFFSET 0
            ) AS charge
            WHERE charge.named_no IS DISTINCT FROM CASE WHEN charge.is_purchased THEN charge.first_token END
               OR charge.order_no IS DISTINCT FROM (
                      SELECT o.no FROM appstore.orders AS o
                      WHERE o.period_no = period.no AND o.environment = p_environment AND charge.is_purchased
                      ORDER BY o.no IS NOT DISTINCT FROM charge.first_token DESC, o.no LIMIT 1)));
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

CREATE OR REPLACE FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text DEFAULT NULL::text) RETURNS void
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

CREATE OR REPLACE VIEW appstore.entitlement_terms AS
SELECT m.environment::text AS environment, m.user_id, m.product_id, coalesce(p.entitlement, m.product_id) AS entitlement,
       term.until,
       -- Where Apple asks to go on although the charge failed.
       CASE WHEN m.status = 4 THEN m.current_period_end END AS grace_from,
       CASE
           WHEN c.transaction_id IS NULL THEN 'purchase_unknown'
           WHEN term.until IS NULL THEN 'duration_unknown'
           WHEN (m.revoked_at IS NOT NULL AND (m.current_period_end IS NULL OR term.until < m.current_period_end))
                OR (m.status = 5 AND s.signed_date >= c.first_signed_date)
               THEN CASE WHEN c.is_upgraded THEN 'upgraded' WHEN c.is_purchased THEN 'refunded' ELSE 'revoked' END
           WHEN m.status IN (3, 4) AND greatest(s.signed_date, l.stated_at) >= c.first_signed_date THEN 'billing_retry'
           ELSE 'expired'
       END AS why_ended,
       CASE WHEN c.is_subscription IS NOT FALSE THEN m.will_renew ELSE false END AS will_renew,
       m.contract_id AS original_transaction_id, m.bundle_id
FROM appstore.member_contracts AS m
LEFT JOIN appstore.transactions AS c ON c.environment = m.environment AND c.transaction_id = m.current_transaction_id
LEFT JOIN appstore.subscriptions AS s ON s.environment = m.environment AND s.original_transaction_id = m.contract_id
LEFT JOIN appstore.products AS p ON p.product_id = m.product_id
LEFT JOIN LATERAL (
    SELECT r.* FROM appstore.legacy_renewals AS r
    WHERE r.original_transaction_id = m.contract_id AND r.environment = m.environment AND r.bundle_id = m.bundle_id OFFSET 0
) AS l ON true
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN m.access_until IS NOT NULL OR c.product_type IS DISTINCT FROM 'Non-Renewing Subscription' THEN m.access_until
        -- A listed product without days lasts for ever. A day has 24 hours, whatever the session's time zone.
        WHEN p.product_id IS NOT NULL THEN coalesce(m.current_period_start + p.days * interval '24 hours', 'infinity')
    END AS until
) AS term
WHERE m.product_id IS NOT NULL AND (c.confers_access OR c.transaction_id IS NULL);

-- What is paid and nobody's, or refused to somebody: as in m0009, with who posted a receipt of somebody else's purchase (owner_conflict).
CREATE OR REPLACE VIEW appstore.unmatched AS
WITH unowned AS (
    -- 1. Contracts with periods that are nobody's. An order that the shop should know goes first: it may settle all others.
    SELECT DISTINCT ON (o.environment, o.origin_no)
           o.environment, o.no, o.period_no, o.trade_no, o.origin_no, o.paid_product_id, o.paid_at,
           count(*) OVER (PARTITION BY o.environment, o.origin_no) AS periods
    FROM appstore.orders AS o
    WHERE o.user_id IS NULL AND o.status IN ('paid', 'partly_refunded')
    ORDER BY o.environment, o.origin_no, o.no = o.period_no, o.paid_at, length(o.trade_no), o.trade_no COLLATE "C"
), explained AS (
    SELECT u.*, coalesce(named.no, u.no) AS concerned, named.product_id AS ordered_product, named.bundle_id AS ordered_bundle,
           coalesce(named.user_id, posted.user_id) AS user_id,
           CASE WHEN u.no <> u.period_no THEN 'order_unknown'
                WHEN named.product_id <> t.product_id THEN 'product_mismatch'
                WHEN named.bundle_id <> t.bundle_id THEN 'bundle_mismatch'
                WHEN named.no IS NOT NULL THEN 'order_paid_before'
                WHEN posted.user_id IS NOT NULL THEN 'too_late'
                ELSE 'no_user' END AS reason
    FROM unowned AS u
    LEFT JOIN appstore.transactions AS t ON t.environment = u.environment AND t.transaction_id = u.trade_no
    LEFT JOIN appstore.orders AS named ON u.no = u.period_no AND named.environment = u.environment AND named.no = t.first_token
    LEFT JOIN LATERAL (
        SELECT s.user_id FROM appstore.submissions AS s
        WHERE u.no = u.period_no AND s.environment = u.environment AND s.original_transaction_id = u.origin_no
        ORDER BY s.received_at, s.event_id LIMIT 1
    ) AS posted ON true
), unpaid AS (
    -- 2. Orders whose payment went to another account, for they are for something else.
    SELECT n.environment, n.no, n.user_id, n.product_id AS ordered_product, n.bundle_id AS ordered_bundle, t.transaction_id,
           t.original_transaction_id, t.product_id, t.purchase_date, given.user_id AS given_to,
           CASE WHEN n.product_id <> t.product_id THEN 'product_mismatch' ELSE 'bundle_mismatch' END AS reason
    FROM appstore.orders AS n
    CROSS JOIN LATERAL (
        SELECT t.* FROM appstore.transactions AS t
        WHERE t.environment = n.environment AND t.first_token = n.no AND t.is_purchased
        ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id COLLATE "C" LIMIT 1
    ) AS t
    JOIN appstore.orders AS given ON given.environment = t.environment AND given.no = t.order_no
    WHERE n.reason IS NOT NULL AND given.user_id <> n.user_id AND given.status <> 'refunded'
), posted AS (
    -- 3. Posts of charges that are somebody else's, or a family member's and came too late.
    SELECT s.environment, s.original_transaction_id, s.user_id, s.received_at, s.event_id, t.order_no, t.transaction_id, t.product_id,
           t.purchase_date, owner.user_id AS owner
    FROM appstore.submissions AS s
    JOIN appstore.transactions AS t ON t.environment = s.environment AND t.transaction_id = s.transaction_id
    LEFT JOIN appstore.orders AS o ON o.environment = t.environment AND o.no = t.order_no
    LEFT JOIN appstore.member_contracts AS m ON m.environment = s.environment AND m.contract_id = s.original_transaction_id
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE owner.user_id <> s.user_id OR (owner.user_id IS NULL AND NOT t.is_purchased)
    UNION ALL
    -- 4. Posts of receipts with somebody else's purchase in them: the one named as just made, else what was somebody else's then and is so
    --    still. A consumable that nobody names is in receipts by the way.
    SELECT s.environment, s.original_transaction_id, s.user_id, s.received_at, s.event_id, t.order_no, t.transaction_id, t.product_id,
           t.purchase_date, owner.user_id
    FROM appstore.receipt_submissions AS s
    JOIN appstore.member_contracts AS m ON m.environment = s.environment AND m.contract_id = s.original_transaction_id
    JOIN appstore.transactions AS t
        ON t.environment = s.environment AND t.transaction_id = coalesce(nullif(s.transaction_id, ''), m.current_transaction_id)
    LEFT JOIN appstore.orders AS o ON s.transaction_id <> '' AND o.environment = t.environment AND o.no = t.order_no
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE owner.user_id <> s.user_id
      AND (s.transaction_id <> '' OR (t.confers_access AND s.user_id IS DISTINCT FROM (
               SELECT c.user_id FROM appstore.claims AS c
               WHERE c.environment = s.environment AND c.original_transaction_id = s.original_transaction_id
                 AND c.effective_at <= s.received_at
               ORDER BY c.effective_at DESC, c.evidence COLLATE "C" DESC LIMIT 1)))
), refused AS (
    -- 5. Once for each contract and poster. A link made after the post has settled it, whoever it names.
    SELECT DISTINCT ON (p.environment, p.original_transaction_id, p.user_id) p.*
    FROM posted AS p
    WHERE NOT EXISTS (SELECT FROM appstore.owner_links AS l
                      WHERE l.environment = p.environment AND l.original_transaction_id = p.original_transaction_id
                        AND l.linked_at >= p.received_at)
      AND NOT EXISTS (SELECT FROM appstore.orders AS u
                      WHERE u.environment = p.environment AND u.origin_no = p.original_transaction_id AND u.user_id IS NULL
                        AND u.status IN ('paid', 'partly_refunded'))
    ORDER BY p.environment, p.original_transaction_id, p.user_id, p.received_at, p.event_id
)
SELECT e.environment, e.concerned AS no, e.reason, e.trade_no AS transaction_id, e.origin_no AS original_transaction_id,
       e.paid_product_id AS product_id, e.paid_at AS purchase_date,
       CASE e.reason
           WHEN 'order_unknown' THEN 'Call create_order with this number.'
           WHEN 'no_user' THEN 'The app posts it within 72 hours of the purchase, or call link_owner.'
           WHEN 'too_late' THEN 'Call link_owner if it is ' || e.user_id || '''s, or refund.'
           WHEN 'order_paid_before' THEN 'One token pays once. Call link_owner if it is ' || coalesce(e.user_id || '''s', 'somebody''s')
                || ', or refund.'
           ELSE 'The order is for ' || e.ordered_product || coalesce(' of ' || e.ordered_bundle, '')
                || '. Call link_owner if this will do for ' || e.user_id || ', or refund.'
       END AS resolution,
       e.user_id, e.periods
FROM explained AS e
UNION ALL
SELECT u.environment, u.no, u.reason, u.transaction_id, u.original_transaction_id, u.product_id, u.purchase_date,
       'The order is for ' || u.ordered_product || coalesce(' of ' || u.ordered_bundle, '') || '; what was bought went to ' || u.given_to
       || ', whose contract it is. Call link_owner if it is ' || u.user_id || '''s, or refund.',
       u.user_id, 1
FROM unpaid AS u
WHERE NOT EXISTS (SELECT FROM appstore.owner_links AS l
                  WHERE l.environment = u.environment AND l.original_transaction_id = u.original_transaction_id
                    AND l.linked_at >= u.purchase_date)
UNION ALL
SELECT r.environment, r.order_no, CASE WHEN r.owner IS NULL THEN 'too_late' ELSE 'owner_conflict' END, r.transaction_id,
       r.original_transaction_id, r.product_id, r.purchase_date,
       CASE WHEN r.owner IS NULL THEN 'Call link_owner if it is ' || r.user_id || '''s.'
            ELSE 'It is ' || r.owner || '''s. Call link_owner, for ' || r.user_id || ' or to confirm ' || r.owner || '.' END,
       r.user_id, 1
FROM refused AS r;

CREATE OR REPLACE FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[]) RETURNS TABLE(user_id text, bundle_id text, product_id text, product_type text, status integer, active boolean, ends_at timestamp with time zone, will_renew boolean, renews_as text, expiration_intent integer, in_billing_retry boolean, grace_ends_at timestamp with time zone, started_at timestamp with time zone, period_started_at timestamp with time zone, period_ends_at timestamp with time zone, revoked_at timestamp with time zone, transaction_id text)
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

CREATE OR REPLACE FUNCTION appstore.state_digest_parts(environment text) RETURNS TABLE(part text, rows bigint, digest text)
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

-- Receipts have whole seconds.
CREATE OR REPLACE FUNCTION appstore.timeline(environment text, original_transaction_id text) RETURNS TABLE(occurred_at timestamp with time zone, learned_at timestamp with time zone, event_id bigint, what text, transaction_id text, product_id text, order_no uuid, user_id text, detail text)
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

ALTER FUNCTION appstore.api_entitlements(text, text, text[]) SET enable_seqscan = off SET jit = off;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT DELETE ON appstore.member_contracts TO appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.books_concerned(text, text[], text[], uuid[], text[]), appstore.legacy_counts(appstore.subscriptions, appstore.legacy_renewals),
    appstore.renewal_status(appstore.subscriptions, appstore.legacy_renewals),
    appstore.access_until(appstore.transactions, appstore.subscriptions, appstore.legacy_renewals) TO appstore_worker;
