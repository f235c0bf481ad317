CREATE OR REPLACE FUNCTION appstore.contract_claims(p_environment appstore.environment, p_contract text)
RETURNS TABLE (kind appstore.claim_kind, source_id text, user_id text, effective_at timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH paid AS (
        -- 1. order: a user's order was paid by one of the contract's periods.
        SELECT 'order'::appstore.claim_kind AS kind, paid.order_no::text AS source_id, paid.user_id, paid.paid_at AS effective_at
        FROM (
            SELECT o.order_no, o.user_id, o.paid_at FROM appstore.orders AS o
            WHERE o.original_transaction_id = p_contract AND o.environment = p_environment
              AND (o.order_no = o.period_no) IS FALSE OFFSET 0 -- the condition of the index, word for word
        ) AS paid
        WHERE paid.user_id IS NOT NULL
        UNION ALL
        -- 2. token: a transaction got another token later, which is an order of the shop (made in Production for either environment). The
        --    token pays nothing, but claims the contract for the order's user.
        SELECT 'token', t.transaction_id, ordered.user_id, t.purchase_date
        FROM appstore.transactions AS t
        CROSS JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o
            WHERE o.order_no = t.app_account_token AND o.environment = 'Production' AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS ordered
        WHERE t.environment = p_environment AND t.original_transaction_id = p_contract AND t.app_account_token <> t.first_token
          AND t.is_purchased
    ), stated AS (
        SELECT paid.* FROM paid
        UNION ALL
        -- 3. link: a command of an operator or the shop that was not taken back; of several at one instant the last. That of an import never
        --    overrides what was paid with a token before.
        (SELECT DISTINCT ON (l.linked_at) 'link'::appstore.claim_kind, lpad((extract(epoch FROM l.linked_at) * 1000000)::bigint::text, 20, '0'),
                l.user_id, l.linked_at
         FROM appstore.owner_links AS l
         WHERE l.environment = p_environment AND l.original_transaction_id = p_contract AND l.user_id IS NOT NULL
           AND l.linked_at > ALL (SELECT back.linked_at FROM appstore.owner_links AS back
                                  WHERE back.environment = p_environment AND back.original_transaction_id = p_contract AND back.user_id IS NULL)
           AND (l.import_id IS NULL OR NOT EXISTS (SELECT FROM paid WHERE paid.effective_at <= l.linked_at))
         ORDER BY l.linked_at, l.link_id DESC)
        UNION ALL
        -- 4. receipt: an app posted a receipt soon after a purchase and named it as just made, before any other post did. The claim moves the
        --    contract. Renewals are excluded, since no app makes them: by the JWS, or because they begin when another period ends.
        (SELECT DISTINCT ON (s.transaction_id) 'receipt'::appstore.claim_kind, s.transaction_id, s.user_id, charge.purchase_date
         FROM appstore.client_posts AS s
         CROSS JOIN LATERAL (
             SELECT t.purchase_date, t.original_transaction_id FROM appstore.transactions AS t
             WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL
               AND t.transaction_reason IS DISTINCT FROM 'RENEWAL' OFFSET 0
         ) AS charge
         WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND s.is_receipt
           AND charge.original_transaction_id = p_contract
           AND s.received_at <= charge.purchase_date + interval '72 hours'
           AND NOT EXISTS (SELECT FROM appstore.transactions AS before
                           WHERE before.original_transaction_id = p_contract AND before.environment = p_environment
                             AND before.transaction_id <> s.transaction_id
                             AND date_trunc('second', before.expires_date) = date_trunc('second', charge.purchase_date))
         ORDER BY s.transaction_id, s.received_at, s.event_id)
    ), posted AS (
    -- 5. client: a user posted a transaction without token as their own, soon after its purchase and before all others. It never overrides
    --    another claim: Apple's signature proves the purchase, not who holds it.
    SELECT 'client'::appstore.claim_kind AS kind, s.transaction_id AS source_id, s.user_id, charge.purchase_date AS effective_at,
            s.received_at, s.event_id
     FROM appstore.client_posts AS s
     CROSS JOIN LATERAL (
         SELECT t.purchase_date, t.original_transaction_id FROM appstore.transactions AS t
         WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL OFFSET 0
     ) AS charge
     WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND NOT s.is_receipt
       AND charge.original_transaction_id = p_contract AND s.received_at <= charge.purchase_date + interval '72 hours'
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= charge.purchase_date)
    UNION ALL
    -- 6. restored: an app posted a receipt that holds the contract, however old, while the contract had no owner.
    SELECT 'restored', p_contract, s.user_id, s.received_at, s.received_at, s.event_id
     FROM appstore.client_posts AS s
     WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND s.is_receipt
       AND NOT EXISTS (SELECT FROM stated WHERE stated.effective_at <= s.received_at)
    )
    SELECT stated.* FROM stated
    UNION ALL
    -- The first received of the posts without a stronger claim before them.
    (SELECT posted.kind, posted.source_id, posted.user_id, posted.effective_at FROM posted ORDER BY posted.received_at, posted.event_id LIMIT 1)
$$;
COMMENT ON FUNCTION appstore.contract_claims IS 'The claims to a contract that orders, later tokens, links and client posts make.';
