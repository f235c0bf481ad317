-- Which period pays an order, the period's data, and its user.

CREATE OR REPLACE FUNCTION appstore.paid_period(p_environment appstore.environment, p_period_no uuid)
RETURNS TABLE (transaction_id text, original_transaction_id text, web_order_line_item_id text, product_id text, paid_at timestamptz,
               quantity integer, price bigint, currency text, status text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.product_id, t.purchase_date, t.quantity, t.price,
           t.currency,
           CASE WHEN bool_and(t.revocation_date IS NOT NULL AND coalesce(t.revocation_percentage, 100000) >= 100000) OVER () THEN 'refunded'
                WHEN bool_or(t.revocation_date IS NOT NULL) OVER () THEN 'partly_refunded'
                ELSE 'paid' END
    FROM appstore.transactions AS t
    WHERE t.environment = p_environment AND t.period_no = p_period_no AND t.is_purchased
    ORDER BY length(t.transaction_id), t.transaction_id
    LIMIT 1
$$;
COMMENT ON FUNCTION appstore.paid_period IS
    'The data of a paid period; no row when it was not paid. Its least transaction identifies it. It is refunded when each of its '
    'transactions is refunded in full; a missing percentage means in full.';

CREATE OR REPLACE FUNCTION appstore.payer(p_environment appstore.environment, p_order_no uuid) RETURNS TABLE (period_no uuid)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.period_no
    FROM appstore.transactions AS t
    LEFT JOIN LATERAL (
        SELECT o.product_id, o.bundle_id FROM appstore.orders AS o WHERE o.order_no = p_order_no AND o.environment = p_environment OFFSET 0
    ) AS ordered ON true
    WHERE t.first_token = p_order_no AND t.environment = p_environment AND t.is_purchased
      AND (ordered.product_id IS NULL OR ordered.product_id = t.product_id)
      AND (ordered.bundle_id IS NULL OR ordered.bundle_id = t.bundle_id)
      AND NOT EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = p_order_no OFFSET 0)
    ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id
    LIMIT 1
$$;
COMMENT ON FUNCTION appstore.payer IS
    'The period that pays an order: that of the first purchase, by (purchase date, transaction id), whose first known token names the order and '
    'whose product and app are the ordered ones. None where the number is a user''s token.';

CREATE OR REPLACE FUNCTION appstore.period_user(p_environment appstore.environment, p_contract text, p_purchased_at timestamptz)
RETURNS TABLE (user_id text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT c.user_id
    FROM appstore.ownership_claims AS c
    WHERE c.original_transaction_id = p_contract AND c.environment = p_environment
    ORDER BY c.effective_at <= p_purchased_at DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN (c.effective_at, c.kind, c.source_id) END DESC,
             c.effective_at, c.kind, c.source_id
    LIMIT 1
$$;
COMMENT ON FUNCTION appstore.period_user IS
    'The user of a period: that of the newest claim at or before its purchase, else of the earliest claim, else none.';
