-- The rules of the books, with the legacy half: which half of a transaction and which statement of a renewal counts, until when that gives
-- access, whose a contract is that somebody posted a receipt of, and which books something concerns. m0025 derives the books by them.
--
-- What is replaced here and there differs from the definition before only where the legacy half is named.

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

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT DELETE ON appstore.member_contracts TO appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.books_concerned(text, text[], text[], uuid[], text[]),
    appstore.legacy_counts(appstore.subscriptions, appstore.legacy_renewals),
    appstore.renewal_status(appstore.subscriptions, appstore.legacy_renewals),
    appstore.access_until(appstore.transactions, appstore.subscriptions, appstore.legacy_renewals) TO appstore_worker;
