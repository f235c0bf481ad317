-- A better look at what moved charges concern, for the lighter derive_books of m0020: what an event cannot have changed is left out, and
-- one look behind the locks is enough as a rule.

-- Which orders and contracts these charges name themselves: what is locked before the first whole look, which then finds no more as a
-- rule. Arrays in key order.
CREATE FUNCTION appstore.books_named(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[])
RETURNS TABLE (tokens uuid[], contracts text[])
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH charge AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id, t.first_token, t.named_no, t.app_account_token, t.is_purchased, t.confers_access
            FROM appstore.transactions AS t WHERE t.transaction_id = moved.id AND t.environment = p_environment OFFSET 0
        ) AS found
    )
    SELECT ARRAY(SELECT unnest(p_tokens) AS no
                 UNION
                 SELECT named.no
                 FROM charge CROSS JOIN LATERAL (VALUES (charge.first_token), (charge.named_no), (charge.app_account_token)) AS named (no)
                 WHERE named.no IS NOT NULL AND charge.is_purchased
                 ORDER BY no),
           ARRAY(SELECT unnest(p_contract_ids) AS id
                 UNION
                 SELECT charge.original_transaction_id FROM charge WHERE charge.confers_access
                 ORDER BY id)
$$;

-- Which orders, periods and contracts may look different after these charges and contracts moved, or these orders were made; `unsure` are
-- those of the tokens that may be paid otherwise, `claimed` the contracts, and consumables, whose claims may be others. Arrays in key order.
CREATE FUNCTION appstore.books_concerned(p_environment text, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[],
                                         p_renewals text[])
RETURNS TABLE (tokens uuid[], unsure uuid[], periods uuid[], contracts text[], claimed text[])
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH charge AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.period_no, t.first_token, t.named_no, t.order_no, t.app_account_token, t.is_purchased, t.confers_access,
                   t.original_transaction_id
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
        WHERE named.no IS NOT NULL AND charge.is_purchased
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
        -- 5. The contracts. A consumable has none, unless somebody said whose it is.
        SELECT unnest(p_contract_ids || p_renewals) AS id
        UNION
        SELECT found.id
        FROM (SELECT charge.original_transaction_id, charge.confers_access FROM charge
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
        WHERE charge.first_token IS NULL OR charge.named_no IS DISTINCT FROM charge.first_token
           OR charge.app_account_token <> charge.first_token
        UNION
        SELECT elsewhere.original_transaction_id FROM elsewhere WHERE elsewhere.original_transaction_id IS NOT NULL
        UNION
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.claims AS c
            WHERE c.original_transaction_id = charge.original_transaction_id AND c.environment = p_environment
              AND (c.evidence LIKE 'client:%' OR c.evidence LIKE 'token:%') LIMIT 1
        ) AS delicate
    )
    SELECT ARRAY(SELECT named.no FROM named ORDER BY named.no),
           ARRAY(SELECT unsure.no FROM unsure ORDER BY unsure.no),
           ARRAY(SELECT moved.no FROM moved UNION SELECT elsewhere.no FROM elsewhere ORDER BY no),
           ARRAY(SELECT contract.id FROM contract ORDER BY contract.id),
           ARRAY(SELECT claimed.id FROM claimed ORDER BY claimed.id)
$$;

-- Locks orders and contracts, in the order of the arrays; makes those that are not there yet. Apple may know of an order first: then it has
-- no user. A Sandbox purchase gets a twin of its own of the Production order that it names; the advisory lock makes create_order and the
-- twin's insertion see each other.
CREATE OR REPLACE FUNCTION appstore.lock_books(p_environment text, p_tokens uuid[], p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
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

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.books_concerned(text, text[], text[], uuid[], text[]),
    appstore.books_named(text, text[], text[], uuid[]) TO appstore_worker;
