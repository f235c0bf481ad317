CREATE OR REPLACE VIEW appstore.orders AS
SELECT o.environment, o.order_no,
       CASE WHEN o.ordered_at IS NOT NULL THEN o.user_id
            -- appstore.period_user and, below, paid_status, written out: a view calls functions with the rights of its reader.
            ELSE (SELECT c.user_id FROM appstore.ownership_claims AS c
                  WHERE c.original_transaction_id = o.original_transaction_id AND c.environment = o.environment
                  ORDER BY c.effective_at <= o.paid_at DESC, CASE WHEN c.effective_at <= o.paid_at THEN (c.effective_at, c.kind, c.source_id) END DESC,
                           c.effective_at, c.kind, c.source_id
                  LIMIT 1) END AS user_id,
       o.product_id, o.bundle_id, o.ordered_at, o.status, o.reason, o.period_no, o.transaction_id, o.original_transaction_id,
       o.web_order_line_item_id, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency, o.paid_bundle_id
FROM (
    SELECT k.environment, k.order_no, k.user_id, k.product_id, k.bundle_id, k.ordered_at, k.status, k.reason, k.period_no, k.transaction_id,
           k.original_transaction_id, k.web_order_line_item_id, k.paid_product_id,
           (SELECT t.bundle_id FROM appstore.transactions AS t
            WHERE t.transaction_id = k.transaction_id AND t.environment = k.environment) AS paid_bundle_id,
           k.paid_at, k.quantity, k.price, k.currency
    FROM appstore.token_orders AS k
    UNION ALL
    -- A purchase that no token pays has an order of its own. Its first transaction represents it, as in appstore.purchase.
    SELECT t.environment, t.period_no AS order_no, NULL::text AS user_id, NULL::text AS product_id, NULL::text AS bundle_id,
           NULL::timestamptz AS ordered_at,
           CASE WHEN NOT whole.is_revoked OR whole.revocation_type NOT IN ('REFUND_FULL', 'REFUND_PRORATED')
                    THEN CASE WHEN whole.revoked_seats > 0 THEN 'partly_refunded' ELSE 'paid' END
                WHEN whole.revocation_percentage < 100000 THEN 'partly_refunded' ELSE 'refunded' END AS status,
           NULL::text AS reason, t.period_no, t.transaction_id, t.original_transaction_id, t.web_order_line_item_id,
           t.product_id AS paid_product_id, t.bundle_id AS paid_bundle_id, t.purchase_date AS paid_at,
           whole.quantity, whole.price, t.currency
    FROM appstore.transactions AS t
    LEFT JOIN LATERAL (
        -- Its parts and their state, as in appstore.purchase.
        SELECT CASE WHEN sum(s.quantity) FILTER (WHERE s.counts) > 2147483647 THEN 2147483647
                    ELSE sum(s.quantity) FILTER (WHERE s.counts) END::integer AS quantity,
               CASE WHEN sum(s.price) FILTER (WHERE s.counts) > 9223372036854775807 THEN 9223372036854775807
                    ELSE sum(s.price) FILTER (WHERE s.counts) END::bigint AS price,
               bool_and(s.revocation_date IS NOT NULL) AS is_revoked, sum(s.revoked_seats) FILTER (WHERE s.counts) AS revoked_seats,
               max(s.revocation_type) FILTER (WHERE s.is_newest) AS revocation_type,
               max(s.revocation_percentage) FILTER (WHERE s.is_newest) AS revocation_percentage
        FROM (
            SELECT s.quantity, s.price, s.counts, s.is_newest, s.revocation_date, s.revocation_type, s.revocation_percentage,
                   CASE WHEN s.multi_seat_info IS NULL THEN 0
                        WHEN s.revocation_date IS NOT NULL AND coalesce(s.revocation_type, 'REFUND_FULL') IN ('REFUND_FULL', 'REFUND_PRORATED')
                        THEN s.quantity
                        ELSE least(greatest((s.multi_seat_info ->> 'revokedSeatQuantity')::integer, 0), s.quantity) END AS revoked_seats
            FROM (
                SELECT s.quantity, s.price, first_value(s.multi_seat_info) OVER group_state AS multi_seat_info,
                       first_value(s.revocation_date) OVER state AS revocation_date,
                       first_value(s.revocation_type) OVER state AS revocation_type,
                       first_value(s.revocation_percentage) OVER state AS revocation_percentage,
                       row_number() OVER (PARTITION BY s.added_at
                                          ORDER BY s.added_at IS NOT NULL AND s.additional_transaction_reason IS NULL,
                                                   length(s.transaction_id), s.transaction_id) = 1 AS counts,
                       row_number() OVER (ORDER BY greatest(s.signed_date, s.receipt_date) DESC, s.revocation_date IS NULL,
                                                   length(s.transaction_id) DESC, s.transaction_id DESC) = 1 AS is_newest
                FROM (
                    SELECT s.*,
                           CASE WHEN s.purchase_date = ANY (array_agg(s.purchase_date)
                                                                FILTER (WHERE s.additional_transaction_reason IS NOT NULL) OVER ())
                                     AND s.purchase_date <> t.purchase_date THEN s.purchase_date END AS added_at
                    FROM appstore.transactions AS s
                    WHERE s.period_no = t.period_no AND s.environment = t.environment AND s.is_purchased
                ) AS s
                WINDOW state AS (PARTITION BY s.added_at
                                 ORDER BY greatest(s.signed_date, s.receipt_date) DESC, s.revocation_date IS NULL,
                                          length(s.transaction_id) DESC, s.transaction_id DESC),
                       group_state AS (PARTITION BY s.added_at
                                       ORDER BY s.multi_seat_info IS NULL, greatest(s.signed_date, s.receipt_date) DESC,
                                                s.revocation_date IS NULL, length(s.transaction_id) DESC, s.transaction_id DESC)
            ) AS s
        ) AS s
    ) AS whole ON true
    WHERE t.order_no = t.period_no AND t.is_purchased AND NOT t.is_later_copy
) AS o;
COMMENT ON VIEW appstore.orders IS
    'Orders: made by the shop, which gives order_no to the client as appAccountToken; or one for each purchase that no token pays '
    '(order_no = period_no). Indexes find them by order_no and by original_transaction_id; appstore.user_orders has those of a user.';
COMMENT ON COLUMN appstore.orders.user_id IS
    'For whom the shop made the order; of any other order the owner when it was bought: see appstore.period_user.';
COMMENT ON COLUMN appstore.orders.ordered_at IS 'When the shop made the order; null while only Apple knows of it.';
COMMENT ON COLUMN appstore.orders.status IS 'pending, paid, partly_refunded (a part of the price) or refunded.';
COMMENT ON COLUMN appstore.orders.product_id IS 'The product that the shop ordered; null while only Apple knows of the order.';
COMMENT ON COLUMN appstore.orders.bundle_id IS 'The app that the shop ordered for; null for any app.';
COMMENT ON COLUMN appstore.orders.paid_product_id IS 'The product that was bought.';
COMMENT ON COLUMN appstore.orders.paid_bundle_id IS 'The app that it was bought in.';
COMMENT ON COLUMN appstore.orders.paid_at IS 'purchaseDate of the transaction that pays it.';
COMMENT ON COLUMN appstore.orders.reason IS 'Why a transaction that names this order does not pay it.';
COMMENT ON COLUMN appstore.orders.period_no IS 'The purchase that pays the order; equal to order_no where no token pays.';
COMMENT ON COLUMN appstore.orders.transaction_id IS 'The first transaction of the purchase that pays the order.';
