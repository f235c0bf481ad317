-- What a purchase is: all transactions with one period_no. Apple makes further ones, copies, when a purchase is restored or moves to another device.

CREATE OR REPLACE FUNCTION appstore.purchase_of(t appstore.transactions) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN t.is_subscription THEN coalesce(t.original_transaction_id || '/' || t.web_order_line_item_id, t.transaction_id)
                WHEN t.product_type = 'Consumable' THEN t.transaction_id
                ELSE t.original_transaction_id END
$$;
COMMENT ON FUNCTION appstore.purchase_of IS
    'The purchase of a transaction, as the subjects of effects name it: contract and period, or the id of its first transaction.';

-- plpgsql: an SQL function with a subquery is not inlined, and would be planned at each call.
CREATE OR REPLACE FUNCTION appstore.is_later_copy(p_environment appstore.environment, p_period_no uuid, p_transaction_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM appstore.transactions AS t
                   WHERE t.period_no = p_period_no AND t.environment = p_environment AND t.is_purchased
                     AND (length(t.transaction_id), t.transaction_id) < (length(p_transaction_id), p_transaction_id) OFFSET 0);
END
$$;
COMMENT ON FUNCTION appstore.is_later_copy IS
    'Whether the ledger has an earlier transaction of the same purchase, by the numbers of their ids. What was bought with a copy, is paid already.';

-- Inlined, all three.
CREATE OR REPLACE FUNCTION appstore.whole_number(value bigint) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN value > 2147483647 THEN 2147483647 ELSE value END::integer
$$;
COMMENT ON FUNCTION appstore.whole_number IS 'A sum of integers as one, at most the greatest: what Apple signs must not stop the derivation.';

CREATE OR REPLACE FUNCTION appstore.is_part(t appstore.transactions) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT t.additional_transaction_reason IS NOT NULL
$$;
COMMENT ON FUNCTION appstore.is_part IS
    'Whether several transactions are the period of this one, since seats were added to it: Apple marks all of them, the first one too.';

CREATE OR REPLACE FUNCTION appstore.revoked_seats(
    p_multi_seat_info jsonb, p_quantity integer, p_revocation_date timestamptz, p_revocation_type text)
RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_multi_seat_info IS NULL THEN NULL
                WHEN p_revocation_date IS NOT NULL AND appstore.is_refund(p_revocation_type) THEN p_quantity
                ELSE least(greatest(coalesce((p_multi_seat_info ->> 'revokedSeatQuantity')::integer, 0), 0), p_quantity) END
$$;
COMMENT ON FUNCTION appstore.revoked_seats IS 'How many seats of a transaction Apple has refunded; null where it bought no seats of a group.';

CREATE OR REPLACE FUNCTION appstore.purchase(p_environment appstore.environment, p_period_no uuid)
RETURNS TABLE (transaction_id text, original_transaction_id text, web_order_line_item_id text, bundle_id text, product_id text,
               product_type text, is_subscription boolean, is_purchased boolean, first_token uuid, purchase_date timestamptz, quantity integer,
               price bigint, currency text, first_signed_date timestamptz, stated_at timestamptz, expires_date timestamptz,
               revocation_date timestamptz, revocation_type text, revocation_percentage integer, revoked_seats integer, is_upgraded boolean,
               has_additions boolean, commitment_info jsonb, transactions bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.bundle_id, t.product_id,
           coalesce(t.product_type, max(t.product_type) OVER alike), t.is_subscription, t.is_purchased, t.first_token, t.purchase_date,
           appstore.whole_number(sum(t.quantity) FILTER (WHERE t.counts) OVER alike),
           CASE WHEN sum(t.price) FILTER (WHERE t.counts) OVER alike > 9223372036854775807 THEN 9223372036854775807
                ELSE sum(t.price) FILTER (WHERE t.counts) OVER alike END::bigint,
           t.currency, min(t.first_signed_date) OVER alike, max(greatest(t.signed_date, t.receipt_date)) OVER alike,
           first_value(t.expires_date) OVER newest,
           -- Several parts are revoked when the last of them is: the others run on.
           CASE WHEN bool_and(t.part_revoked_at IS NOT NULL) OVER alike THEN max(t.part_revoked_at) OVER alike END,
           first_value(t.revocation_type) OVER newest, first_value(t.revocation_percentage) OVER newest,
           appstore.whole_number(sum(t.seats_revoked) FILTER (WHERE t.counts) OVER alike),
           first_value(t.is_upgraded) OVER newest, bool_or(t.is_part) OVER alike,
           first_value(t.commitment_info) OVER newest, count(*) OVER alike
    FROM (
        -- Each part counts once, as its first transaction has it, but revoked as the newest statement about any copy of it says.
        SELECT t.*,
               row_number() OVER (PARTITION BY t.is_purchased, t.added_at
                                  ORDER BY t.added_at IS NOT NULL AND NOT t.is_part, length(t.transaction_id), t.transaction_id) = 1 AS counts,
               first_value(t.revocation_date) OVER state AS part_revoked_at,
               -- A copy from a receipt says nothing of groups.
               appstore.revoked_seats(first_value(t.multi_seat_info) OVER group_state, t.quantity, first_value(t.revocation_date) OVER state,
                                      first_value(t.revocation_type) OVER state) AS seats_revoked
        FROM (
            -- The parts: the purchase itself, and each instant at which seats were added to it.
            SELECT t.*, appstore.is_part(t) AS is_part,
                   CASE WHEN t.purchase_date = ANY (array_agg(t.purchase_date) FILTER (WHERE appstore.is_part(t)) OVER first)
                             AND t.purchase_date <> first_value(t.purchase_date) OVER first THEN t.purchase_date END AS added_at
            FROM appstore.transactions AS t
            WHERE t.environment = p_environment AND t.period_no = p_period_no
            WINDOW first AS (PARTITION BY t.is_purchased ORDER BY length(t.transaction_id), t.transaction_id
                             ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        ) AS t
        WINDOW state AS (PARTITION BY t.is_purchased, t.added_at
                         ORDER BY greatest(t.signed_date, t.receipt_date) DESC, t.revocation_date IS NULL, length(t.transaction_id) DESC,
                                  t.transaction_id DESC),
               group_state AS (PARTITION BY t.is_purchased, t.added_at
                               ORDER BY t.multi_seat_info IS NULL, greatest(t.signed_date, t.receipt_date) DESC, t.revocation_date IS NULL,
                                        length(t.transaction_id) DESC, t.transaction_id DESC)
    ) AS t
    WINDOW alike AS (PARTITION BY t.is_purchased),
           newest AS (PARTITION BY t.is_purchased
                      ORDER BY greatest(t.signed_date, t.receipt_date) DESC, t.revocation_date IS NULL, length(t.transaction_id) DESC,
                               t.transaction_id DESC)
    ORDER BY t.is_purchased DESC, length(t.transaction_id), t.transaction_id
    LIMIT 1
$$;
COMMENT ON FUNCTION appstore.purchase IS
    'A purchase by its number: the constants of its first transaction, which represents it, and the state of the newest statement about any of them. '
    'Seats that were added in it count together: quantity and price are the sum, and it is revoked when the newest statements about each of these '
    'parts say so. Transactions that were bought come before those that are shared or assigned.';

CREATE OR REPLACE FUNCTION appstore.paid_status(
    p_revocation_date timestamptz, p_revocation_type text, p_revocation_percentage integer, p_revoked_seats integer)
RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_revocation_date IS NULL OR NOT appstore.is_refund(p_revocation_type)
                    THEN CASE WHEN p_revoked_seats > 0 THEN 'partly_refunded' ELSE 'paid' END
                WHEN p_revocation_percentage < 100000 THEN 'partly_refunded' ELSE 'refunded' END
$$;
COMMENT ON FUNCTION appstore.paid_status IS
    'The status of the order of a paid purchase. A refund without a percentage is one of the whole price; seats of a group are refunded without a '
    'date.';

CREATE OR REPLACE FUNCTION appstore.paid_period(p_environment appstore.environment, p_period_no uuid)
RETURNS TABLE (transaction_id text, original_transaction_id text, web_order_line_item_id text, product_id text, paid_at timestamptz,
               quantity integer, price bigint, currency text, status text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT p.transaction_id, p.original_transaction_id, p.web_order_line_item_id, p.product_id, p.purchase_date, p.quantity, p.price,
           p.currency, appstore.paid_status(p.revocation_date, p.revocation_type, p.revocation_percentage, p.revoked_seats)
    FROM appstore.purchase(p_environment, p_period_no) AS p
    WHERE p.is_purchased
$$;
COMMENT ON FUNCTION appstore.paid_period IS
    'The data of a paid purchase; no row when it was not paid.';

CREATE OR REPLACE FUNCTION appstore.purchases_with(p_environment appstore.environment, p_token uuid)
RETURNS TABLE (transaction_id text, period_no uuid, product_id text, bundle_id text, purchase_date timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.transaction_id, t.period_no, t.product_id, t.bundle_id, t.purchase_date
    FROM appstore.transactions AS t
    WHERE t.first_token = p_token AND t.environment = p_environment AND t.is_purchased
      AND NOT appstore.is_later_copy(p_environment, t.period_no, t.transaction_id)
$$;
COMMENT ON FUNCTION appstore.purchases_with IS 'The first transactions of purchases that were made with a token. Inlined.';

CREATE OR REPLACE FUNCTION appstore.payer(p_environment appstore.environment, p_order_no uuid) RETURNS TABLE (period_no uuid)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.period_no
    FROM appstore.purchases_with(p_environment, p_order_no) AS t
    LEFT JOIN LATERAL (
        SELECT o.product_id, o.bundle_id FROM appstore.token_orders AS o WHERE o.order_no = p_order_no AND o.environment = p_environment OFFSET 0
    ) AS ordered ON true
    WHERE (ordered.product_id IS NULL OR ordered.product_id = t.product_id)
      AND (ordered.bundle_id IS NULL OR ordered.bundle_id = t.bundle_id)
      AND NOT EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = p_order_no OFFSET 0)
    ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id
    LIMIT 1
$$;
COMMENT ON FUNCTION appstore.payer IS
    'The purchase that pays an order: the first one, by (purchase date, transaction id), of which the first transaction''s first known token names '
    'the order and whose product and app are the ordered ones. The token of a copy pays nothing, nor does a user''s.';

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
    'The owner of a contract when something of it was bought: the user of the newest claim at or before that, else of the earliest claim, else none. '
    'Inlined.';

CREATE OR REPLACE FUNCTION appstore.order_user(
    p_environment appstore.environment, p_order_no uuid, p_period_no uuid, p_contract text, p_purchased_at timestamptz, p_is_later_copy boolean)
RETURNS TABLE (user_id text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT CASE WHEN made.ordered_at IS NOT NULL THEN made.user_id ELSE claimed.user_id END
    FROM (
        SELECT CASE WHEN p_is_later_copy
                    THEN (SELECT f.purchase_date FROM appstore.transactions AS f
                          WHERE f.period_no = p_period_no AND f.environment = p_environment AND f.is_purchased
                          ORDER BY length(f.transaction_id), f.transaction_id LIMIT 1)
                    ELSE p_purchased_at END AS at
        WHERE p_order_no IS NOT NULL OFFSET 0
    ) AS bought
    LEFT JOIN LATERAL (
        SELECT o.user_id, o.ordered_at FROM appstore.token_orders AS o
        WHERE o.order_no = p_order_no AND o.environment = p_environment AND p_order_no <> p_period_no OFFSET 0
    ) AS made ON true
    LEFT JOIN LATERAL (
        SELECT c.user_id FROM appstore.period_user(p_environment, p_contract, bought.at) AS c WHERE made.ordered_at IS NULL OFFSET 0
    ) AS claimed ON true
    OFFSET 0 -- evaluated once
$$;
COMMENT ON FUNCTION appstore.order_user IS
    'The user of the order that a transaction pays, as appstore.orders has it, from the transaction''s own row. Inlined.';
