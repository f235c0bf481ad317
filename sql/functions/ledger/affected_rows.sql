CREATE OR REPLACE FUNCTION appstore.affected_rows(
    p_environment appstore.environment, p_transaction_ids text[], p_contract_ids text[], p_tokens uuid[], p_renewals text[])
RETURNS TABLE (tokens uuid[], unsure uuid[], periods uuid[], contracts text[], claimed text[], shared text[])
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH charge AS MATERIALIZED (
        SELECT found.*
        FROM unnest(p_transaction_ids) AS moved (id)
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.period_no, t.first_token, t.token_changed, t.left_token, t.order_no, t.app_account_token, t.is_purchased,
                   t.original_transaction_id, t.left_contract
            FROM appstore.transactions AS t WHERE t.transaction_id = moved.id AND t.environment = p_environment OFFSET 0
        ) AS found
    ), moved AS MATERIALIZED (
        -- 1. The periods of the charges, as they are and as of the latest derivation.
        SELECT charge.period_no AS order_no FROM charge
        UNION
        SELECT coalesce((SELECT o.period_no FROM appstore.token_orders AS o
                         WHERE o.order_no = charge.order_no AND o.environment = p_environment), charge.order_no)
        FROM charge WHERE charge.order_no <> charge.period_no
    ), named AS MATERIALIZED (
        -- 2. The orders that the charges name, named at the latest derivation, or pay together with another charge.
        SELECT unnest(p_tokens) AS order_no
        UNION
        SELECT named.order_no
        FROM charge CROSS JOIN LATERAL (VALUES (charge.first_token), (charge.left_token), (charge.app_account_token)) AS named (order_no)
        WHERE named.order_no IS NOT NULL AND (charge.is_purchased OR charge.token_changed)
        UNION
        SELECT paid.order_no
        FROM moved CROSS JOIN LATERAL (
            SELECT o.order_no FROM appstore.token_orders AS o
            WHERE o.period_no = moved.order_no AND o.environment = p_environment OFFSET 0
        ) AS paid
        UNION -- A copy names an order as long as the first transaction of its purchase is not known.
        SELECT copy.first_token
        FROM moved CROSS JOIN LATERAL (
            SELECT t.first_token FROM appstore.transactions AS t
            WHERE t.period_no = moved.order_no AND t.environment = p_environment AND t.is_purchased AND t.first_token IS NOT NULL OFFSET 0
        ) AS copy
    ), unsure AS MATERIALIZED (
        -- 3. The orders whose payer may differ: all except those paid as before, by a period that did not move.
        SELECT named.order_no, ordered.period_no AS paid_before, payer.period_no AS paid_now, ordered.original_transaction_id AS contract_before
        FROM named
        LEFT JOIN LATERAL (
            SELECT o.period_no, o.original_transaction_id FROM appstore.token_orders AS o
            WHERE o.order_no = named.order_no AND o.environment = p_environment OFFSET 0
        ) AS ordered ON true
        LEFT JOIN LATERAL appstore.payer(p_environment, named.order_no) AS payer ON true
        WHERE ordered.period_no IS NULL OR ordered.period_no IS DISTINCT FROM payer.period_no
           OR ordered.period_no IN (SELECT moved.order_no FROM moved) OR named.order_no = ANY (p_tokens)
    ), elsewhere AS MATERIALIZED (
        -- 4. The periods that paid those orders or pay them now, and those of charges that name an order of this number later, and so claim
        --    their contract; with their contracts.
        SELECT period.order_no, found.original_transaction_id
        FROM (
            SELECT unsure.paid_before AS order_no FROM unsure WHERE unsure.paid_before IS NOT NULL
            UNION
            SELECT unsure.paid_now FROM unsure WHERE unsure.paid_now IS NOT NULL
            UNION
            SELECT moved.order_no FROM moved WHERE moved.order_no NOT IN (SELECT charge.period_no FROM charge)
            UNION
            SELECT later.period_no
            FROM unnest(p_tokens) AS made (order_no) CROSS JOIN LATERAL (
                SELECT t.period_no FROM appstore.transactions AS t
                WHERE t.app_account_token = made.order_no AND t.environment = p_environment AND t.app_account_token <> t.first_token OFFSET 0
            ) AS later
        ) AS period
        LEFT JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.period_no = period.order_no AND t.environment = p_environment OFFSET 0
        ) AS found ON true
    ), personal AS MATERIALIZED (
        -- The contracts of purchases that were made with a user's token of this number.
        SELECT DISTINCT found.original_transaction_id AS id
        FROM unnest(p_tokens) AS made (token)
        CROSS JOIN LATERAL (SELECT FROM appstore.user_tokens AS u WHERE u.token = made.token OFFSET 0) AS u
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.first_token = made.token AND t.environment = p_environment OFFSET 0
        ) AS found
    ), contract AS (
        -- 5. The contracts. That of a consumable, too, although its row is deleted again once it has an owner, unless it was posted or linked: a
        --    transaction that learns its user, and one that learns its charge, must not both miss what the other has not yet committed.
        SELECT unnest(p_contract_ids || p_renewals) AS id
        UNION
        SELECT charge.original_transaction_id FROM charge
        UNION
        SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL -- derived without the charge
        UNION
        SELECT elsewhere.original_transaction_id FROM elsewhere WHERE elsewhere.original_transaction_id IS NOT NULL
        UNION -- no charge of the period that paid may be left in it
        SELECT unsure.contract_before FROM unsure WHERE unsure.contract_before IS NOT NULL
        UNION
        SELECT personal.id FROM personal
    ), claimed AS (
        -- 6. Contracts whose claims may differ. A charge concerns claims when it has no token, a user's, or another one than before; claims by
        --    clients and by tokens depend on more than that.
        SELECT unnest(p_contract_ids) AS id
        UNION
        SELECT personal.id FROM personal
        UNION
        SELECT charge.original_transaction_id FROM charge
        WHERE charge.first_token IS NULL
           OR charge.token_changed OR charge.app_account_token <> charge.first_token
           OR EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = charge.first_token OFFSET 0)
        UNION
        SELECT charge.left_contract FROM charge WHERE charge.left_contract IS NOT NULL
        UNION
        SELECT elsewhere.original_transaction_id FROM elsewhere WHERE elsewhere.original_transaction_id IS NOT NULL
        UNION -- no charge of the period that paid may be left in it
        SELECT unsure.contract_before FROM unsure WHERE unsure.contract_before IS NOT NULL
        UNION
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.ownership_claims AS c
            WHERE c.original_transaction_id = charge.original_transaction_id AND c.environment = p_environment
              AND c.kind IN ('client', 'token') LIMIT 1
        ) AS delicate
        UNION
        -- A posted receipt depends on all charges of its contract, a posted transaction on itself.
        SELECT charge.original_transaction_id
        FROM charge CROSS JOIN LATERAL (
            SELECT FROM appstore.client_posts AS p
            WHERE p.original_transaction_id = charge.original_transaction_id AND p.environment = p_environment
              AND (p.is_receipt OR p.transaction_id = charge.transaction_id) LIMIT 1
        ) AS posted
    )
    SELECT ARRAY(SELECT named.order_no FROM named ORDER BY named.order_no),
           ARRAY(SELECT unsure.order_no FROM unsure ORDER BY unsure.order_no),
           ARRAY(SELECT moved.order_no FROM moved UNION SELECT elsewhere.order_no FROM elsewhere ORDER BY order_no),
           ARRAY(SELECT contract.id FROM contract ORDER BY contract.id),
           ARRAY(SELECT claimed.id FROM claimed ORDER BY claimed.id),
           ARRAY(SELECT unnest(ARRAY[charge.original_transaction_id, charge.left_contract]) FROM charge
                 WHERE NOT charge.is_purchased OR charge.token_changed)
$$;
COMMENT ON FUNCTION appstore.affected_rows IS
    'The rows that a derivation after these changes concerns: tokens, the orders to check; unsure, those whose payer may differ; periods, '
    'purchases whose order may differ; contracts; claimed, contracts whose claims may differ; shared, contracts of charges that were not bought.';
