-- Batches lock in one order: charges, posts, orders by token, contracts, orders of periods; first those of Production. Where they did not, two
-- of them could wait for each other until PostgreSQL ended one, after a second.

-- The contracts and orders that charges name, to be locked first. As before, and the contract of a consumable of which somebody said whose it
-- is: it was locked after those that come later.
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
                 SELECT found.id
                 FROM (SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL
                       UNION
                       SELECT charge.original_transaction_id FROM charge WHERE NOT charge.confers_access) AS found (id)
                 WHERE EXISTS (SELECT FROM appstore.member_contracts AS m
                               WHERE m.contract_id = found.id AND m.environment = p_environment OFFSET 0)
                 ORDER BY id)
$$;

-- As before, but it does not wait for charges that are not in its batch.
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
