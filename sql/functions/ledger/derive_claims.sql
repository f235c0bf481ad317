CREATE OR REPLACE FUNCTION appstore.derive_claims(p_environment appstore.environment, p_contracts text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    v_changed text[];
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT contract.id, c.*
        FROM unnest(p_contracts) AS contract (id) CROSS JOIN LATERAL appstore.contract_claims(p_environment, contract.id) AS c
    ), made AS (
        INSERT INTO appstore.ownership_claims AS c (environment, original_transaction_id, kind, source_id, user_id, effective_at)
        SELECT p_environment, wanted.*
        FROM wanted
        WHERE NOT EXISTS (
            SELECT FROM appstore.ownership_claims AS same
            WHERE same.original_transaction_id = wanted.id AND same.environment = p_environment AND same.kind = wanted.kind
              AND (same.source_id, same.user_id, same.effective_at) = (wanted.source_id, wanted.user_id, wanted.effective_at) OFFSET 0)
        ORDER BY wanted.id, wanted.kind, wanted.source_id
        ON CONFLICT (original_transaction_id, environment, kind, source_id) DO UPDATE
        SET user_id = excluded.user_id, effective_at = excluded.effective_at
        RETURNING c.original_transaction_id
    ), dropped AS (
        DELETE FROM appstore.ownership_claims AS c
        WHERE c.original_transaction_id = ANY (p_contracts) AND c.environment = p_environment
          AND NOT EXISTS (SELECT FROM wanted WHERE (wanted.id, wanted.kind, wanted.source_id) = (c.original_transaction_id, c.kind, c.source_id))
        RETURNING c.original_transaction_id
    )
    SELECT coalesce(array_agg(DISTINCT changed.original_transaction_id), '{}') INTO v_changed
    FROM (TABLE made UNION ALL TABLE dropped) AS changed;
    -- Derive the users of all periods of contracts whose claims changed.
    IF cardinality(v_changed) > 0 THEN
        WITH by_period AS MATERIALIZED (
            SELECT DISTINCT t.period_no, owner.user_id
            FROM unnest(v_changed) AS changed (id)
            CROSS JOIN LATERAL (
                SELECT t.period_no FROM appstore.transactions AS t
                WHERE t.original_transaction_id = changed.id AND t.environment = p_environment OFFSET 0
            ) AS t
            CROSS JOIN LATERAL (
                SELECT known.original_transaction_id, known.paid_at FROM appstore.orders AS known
                WHERE known.order_no = t.period_no AND known.environment = p_environment AND known.period_no = known.order_no
                  AND known.original_transaction_id = changed.id OFFSET 0
            ) AS known
            LEFT JOIN LATERAL appstore.period_user(p_environment, known.original_transaction_id, known.paid_at) AS owner ON true
        )
        UPDATE appstore.orders AS o SET user_id = by_period.user_id
        FROM by_period
        WHERE o.order_no = ANY (ARRAY(SELECT by_period.period_no FROM by_period)) AND o.order_no = by_period.period_no
          AND o.environment = p_environment AND o.user_id IS DISTINCT FROM by_period.user_id;
    END IF;
    RETURN v_changed;
END
$$;
COMMENT ON FUNCTION appstore.derive_claims IS
    'Derives the claims to these contracts, and the users of the periods of those whose claims changed; returns their ids.';

CREATE OR REPLACE FUNCTION appstore.derive_token_users(p_environment appstore.environment, p_tokens uuid[], p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH new AS MATERIALIZED (
        SELECT unmade.order_no, owner.user_id
        FROM (
            SELECT o.order_no, o.user_id, o.original_transaction_id, o.paid_at
            FROM unnest(p_tokens) AS token (order_no)
            CROSS JOIN LATERAL (
                SELECT o.* FROM appstore.orders AS o WHERE o.order_no = token.order_no AND o.environment = p_environment OFFSET 0
            ) AS o
            WHERE o.ordered_at IS NULL
            UNION
            SELECT o.order_no, o.user_id, o.original_transaction_id, o.paid_at
            FROM unnest(p_contracts) AS contract (id)
            CROSS JOIN LATERAL (
                SELECT o.* FROM appstore.orders AS o
                WHERE o.original_transaction_id = contract.id AND o.environment = p_environment
                  AND (o.order_no = o.period_no) IS FALSE OFFSET 0 -- the condition of the index, word for word
            ) AS o
            WHERE o.ordered_at IS NULL
        ) AS unmade
        LEFT JOIN LATERAL appstore.period_user(p_environment, unmade.original_transaction_id, unmade.paid_at) AS owner ON true
        WHERE unmade.user_id IS DISTINCT FROM owner.user_id
    )
    UPDATE appstore.orders AS o SET user_id = new.user_id
    FROM new
    WHERE o.order_no = ANY (ARRAY(SELECT new.order_no FROM new)) AND o.order_no = new.order_no AND o.environment = p_environment;
END
$$;
COMMENT ON FUNCTION appstore.derive_token_users IS
    'Derives the users of the orders that the shop has not made, of these tokens and of these contracts: like a period without a token, such an '
    'order is that of the owner at the purchase.';
