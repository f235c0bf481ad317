-- The rules that the books are derived by, one function each: what pays an order, what a paid period is, who says that a contract is his,
-- whose a period is, until when a contract gives access.
--
-- Every statement here and in derive_books goes from a few keys to their rows by index, and must go on doing so with a plan that was made while the tables were
-- empty, when all ways look equally cheap. Hence the shapes: `LATERAL (… OFFSET 0)` and `EXISTS (… OFFSET 0)` are lookups that the
-- planner cannot turn round, with no condition inside that would fit the predicate of another partial index; rows to change are looked
-- up first and then named by their ctid; and the functions in FROM are inlined. A test counts the rows that a merge reads.

DROP FUNCTION appstore.payers(text, uuid[]);
DROP FUNCTION appstore.paid_periods(text, uuid[]);
DROP FUNCTION appstore.transaction_number(text);

-- Transaction ids are numbers written as text, without leading zeros: the shorter one is the smaller. Both indexes hold the whole order,
-- so that the first payer and the current period are each the first entry, however long the history.
DROP INDEX appstore.transactions_by_contract, appstore.transactions_by_first_token;
CREATE INDEX transactions_by_contract ON appstore.transactions
    (original_transaction_id, environment, purchase_date DESC, expires_date DESC NULLS LAST, length(transaction_id) DESC,
     transaction_id COLLATE "C" DESC);
CREATE INDEX transactions_by_first_token ON appstore.transactions
    (first_token, environment, purchase_date, length(transaction_id), transaction_id COLLATE "C") WHERE first_token IS NOT NULL;
-- Charges of a contract whose token changed after their first sight.
CREATE INDEX transactions_of_later_token ON appstore.transactions (original_transaction_id, environment)
    WHERE app_account_token <> first_token;
-- Orders that were given out as tokens, of a contract: few beside its renewals.
CREATE INDEX orders_by_token_of_contract ON appstore.orders (origin_no, environment) WHERE no <> period_no;

-- Rows that change with each event stay on their page.
ALTER TABLE appstore.transactions SET (fillfactor = 90);
ALTER TABLE appstore.subscriptions SET (fillfactor = 80);
ALTER TABLE appstore.member_contracts SET (fillfactor = 80);

-- The period that pays an order: the first purchase, by (purchase date, transaction id), whose first known token names the order and
-- whose product and bundle are the ordered ones.
CREATE FUNCTION appstore.payer(p_environment text, p_no uuid) RETURNS TABLE (period_no uuid)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.period_no
    FROM appstore.transactions AS t
    LEFT JOIN LATERAL (
        SELECT o.product_id, o.bundle_id FROM appstore.orders AS o WHERE o.no = p_no AND o.environment = p_environment OFFSET 0
    ) AS ordered ON true
    WHERE t.first_token = p_no AND t.environment = p_environment AND t.is_purchased
      AND (ordered.product_id IS NULL OR ordered.product_id = t.product_id)
      AND (ordered.bundle_id IS NULL OR ordered.bundle_id = t.bundle_id)
    ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id COLLATE "C"
    LIMIT 1
$$;

-- What is known of a paid period; no row when nobody paid for it. Several charges may name one period: the smallest transaction id is its
-- trade number. It is refunded when every charge of it is, in full (a missing percentage means all of it).
CREATE FUNCTION appstore.paid_period(p_environment text, p_period_no uuid)
RETURNS TABLE (trade_no text, origin_no text, web_order_line_item_id text, product_id text, paid_at timestamptz, quantity integer,
               price bigint, currency text, status text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.product_id, t.purchase_date, t.quantity, t.price,
           t.currency,
           CASE WHEN bool_and(t.revocation_date IS NOT NULL AND coalesce(t.revocation_percentage, 100000) >= 100000) OVER () THEN 'refunded'
                WHEN bool_or(t.revocation_date IS NOT NULL) OVER () THEN 'partly_refunded'
                ELSE 'paid' END
    FROM appstore.transactions AS t
    WHERE t.environment = p_environment AND t.period_no = p_period_no AND t.is_purchased
    ORDER BY length(t.transaction_id), t.transaction_id COLLATE "C"
    LIMIT 1
$$;

-- Who says that a contract is his, and from when. The kind of evidence decides between claims of the same instant, by its name.
CREATE FUNCTION appstore.claims_of(p_environment text, p_contract text)
RETURNS TABLE (evidence text, user_id text, effective_at timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
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
    )
    SELECT stated.evidence, stated.user_id, stated.effective_at FROM stated
    UNION ALL
    -- 4. Somebody posted a charge without token as his, soon after its purchase and before all others; it never overrides another claim,
    --    for what Apple signed proves the purchase, not who holds it.
    (SELECT 'client:' || s.transaction_id, s.user_id, charge.purchase_date
     FROM appstore.submissions AS s
     CROSS JOIN LATERAL (
         SELECT t.purchase_date FROM appstore.transactions AS t
         WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL OFFSET 0
     ) AS charge
     WHERE s.environment = p_environment AND s.original_transaction_id = p_contract
       AND s.received_at <= charge.purchase_date + interval '72 hours'
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= charge.purchase_date)
     ORDER BY s.received_at, s.event_id
     LIMIT 1)
$$;

-- The user of a period that no token pays: the newest claim at or before its purchase, else the earliest one, else nobody yet.
DROP FUNCTION appstore.period_user(text, text, timestamptz);
CREATE FUNCTION appstore.period_user(p_environment text, p_contract text, p_purchased_at timestamptz) RETURNS TABLE (user_id text)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT c.user_id
    FROM appstore.claims AS c
    WHERE c.original_transaction_id = p_contract AND c.environment = p_environment
    ORDER BY c.effective_at <= p_purchased_at DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.effective_at END DESC,
             CASE WHEN c.effective_at <= p_purchased_at THEN c.evidence END COLLATE "C" DESC,
             c.effective_at, c.evidence COLLATE "C"
    LIMIT 1
$$;

-- Until when a contract gives access, from its current charge c and its renewal register s. It is no function of the clock: access is
-- active while now < until. A statement about the renewal counts once it is as new as the first sight of the current period. What is
-- bought once lasts for ever; how long a non-renewing product lasts is the shop's to say (appstore.products).
CREATE OR REPLACE FUNCTION appstore.access_until(c appstore.transactions, s appstore.subscriptions) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN NOT c.is_subscription THEN
            CASE WHEN c.confers_access
                 THEN coalesce(c.revocation_date, CASE WHEN c.product_type = 'Non-Consumable' THEN timestamptz 'infinity' END) END
        WHEN c.revocation_date IS NOT NULL AND (s.signed_date IS NULL OR c.signed_date > s.signed_date) THEN c.revocation_date
        WHEN s.signed_date >= c.first_signed_date AND s.status = 1 THEN greatest(c.expires_date, s.renewal_date)
        WHEN s.signed_date >= c.first_signed_date AND s.status = 4 THEN coalesce(s.grace_period_expires_date, c.expires_date)
        WHEN s.signed_date >= c.first_signed_date AND s.status IN (2, 3, 5)
            THEN least(coalesce(c.revocation_date, c.expires_date), s.signed_date)
        ELSE coalesce(c.revocation_date, c.expires_date)
    END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.payer(text, uuid), appstore.paid_period(text, uuid), appstore.claims_of(text, text),
    appstore.period_user(text, text, timestamptz) TO appstore_worker;
