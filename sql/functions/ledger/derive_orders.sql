-- Orders: which purchase pays an order with a token, and to which order a transaction points.

CREATE OR REPLACE FUNCTION appstore.derive_token_orders(p_environment appstore.environment, p_tokens uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- 1. Delete orders that the shop did not make and no first token names any more, and their twins: only a later token named them. So
    --    also those of a user's token, which is no order.
    DELETE FROM appstore.token_orders AS unmade
    WHERE unmade.order_no = ANY (p_tokens) AND unmade.environment = p_environment
      AND (unmade.ordered_at IS NULL OR p_environment = 'Sandbox')
      AND (NOT EXISTS (SELECT FROM appstore.purchases_with(p_environment, unmade.order_no) OFFSET 0)
           OR EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = unmade.order_no OFFSET 0));
    -- 2. Update the others from their payer.
    UPDATE appstore.token_orders AS o
    SET status = new.status, reason = new.reason, period_no = new.period_no, transaction_id = new.transaction_id,
        original_transaction_id = new.original_transaction_id, web_order_line_item_id = new.web_order_line_item_id,
        paid_product_id = new.product_id, paid_at = new.paid_at, quantity = new.quantity, price = new.price, currency = new.currency
    FROM (
        SELECT token.order_no, coalesce(paid.status, 'pending') AS status,
               CASE WHEN payer.period_no IS NULL AND EXISTS (SELECT FROM appstore.purchases_with(p_environment, token.order_no) OFFSET 0)
                    THEN 'product_mismatch' END AS reason,
               payer.period_no, paid.transaction_id, paid.original_transaction_id, paid.web_order_line_item_id, paid.product_id, paid.paid_at,
               paid.quantity, paid.price, paid.currency
        FROM unnest(p_tokens) AS token (order_no)
        LEFT JOIN LATERAL appstore.payer(p_environment, token.order_no) AS payer ON true
        LEFT JOIN LATERAL appstore.paid_period(p_environment, payer.period_no) AS paid ON true
    ) AS new
    WHERE o.order_no = ANY (p_tokens) AND o.order_no = new.order_no AND o.environment = p_environment
      AND (o.status, o.reason, o.period_no, o.transaction_id, o.original_transaction_id, o.web_order_line_item_id, o.paid_product_id,
           o.paid_at, o.quantity, o.price, o.currency)
          IS DISTINCT FROM
          (new.status, new.reason, new.period_no, new.transaction_id, new.original_transaction_id, new.web_order_line_item_id, new.product_id,
           new.paid_at, new.quantity, new.price, new.currency);
END
$$;
COMMENT ON FUNCTION appstore.derive_token_orders IS 'Derives the orders with these tokens, whose rows are locked, from the purchases that pay them.';

CREATE OR REPLACE FUNCTION appstore.point_to_orders(p_environment appstore.environment, p_periods uuid[], p_transaction_ids text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_moved   text[];   -- charges whose order differs, or whose mark of a copy
    v_copies  text[];   -- those of them that are copies of an earlier one
    v_foreign bigint;   -- those of them that this transaction has not written
    v_had     bigint;
BEGIN
    SELECT coalesce(array_agg(charge.transaction_id ORDER BY charge.transaction_id), '{}'),
           coalesce(array_agg(charge.transaction_id) FILTER (WHERE charge.place > 1), '{}'),
           count(*) FILTER (WHERE charge.transaction_id <> ALL (p_transaction_ids))
    INTO v_moved, v_copies, v_foreign
    FROM unnest(p_periods) AS period (order_no)
    CROSS JOIN LATERAL (
        SELECT t.transaction_id, t.first_token, t.is_purchased, t.order_no, t.token_changed, t.is_later_copy,
               row_number() OVER (PARTITION BY t.is_purchased ORDER BY length(t.transaction_id), t.transaction_id) AS place
        FROM appstore.transactions AS t WHERE t.period_no = period.order_no AND t.environment = p_environment OFFSET 0
    ) AS charge
    WHERE charge.token_changed OR charge.is_later_copy <> (charge.place > 1)
       OR charge.order_no IS DISTINCT FROM appstore.order_of(p_environment, period.order_no, charge.first_token, charge.is_purchased);
    IF v_foreign > 0 THEN
        -- A transaction that holds a charge will wait for its contract, which is locked here: waiting for the charge would be a deadlock.
        PERFORM FROM appstore.transactions AS t
        WHERE t.transaction_id = ANY (v_moved) AND t.environment = p_environment FOR UPDATE SKIP LOCKED;
        GET DIAGNOSTICS v_had = ROW_COUNT;
        IF v_had < cardinality(v_moved) THEN
            PERFORM appstore.give_way();
        END IF;
    END IF;
    IF cardinality(v_moved) > 0 THEN
        UPDATE appstore.transactions AS t
        SET order_no = appstore.order_of(p_environment, t.period_no, t.first_token, t.is_purchased),
            token_changed = false, left_token = NULL, is_later_copy = t.transaction_id = ANY (v_copies)
        WHERE t.transaction_id = ANY (v_moved) AND t.environment = p_environment;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.point_to_orders IS
    'Points the transactions of these purchases to their orders, and marks copies. p_transaction_ids are those that this transaction has written.';
