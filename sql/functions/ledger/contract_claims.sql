CREATE OR REPLACE FUNCTION appstore.is_copy(
    p_environment appstore.environment, p_transaction_id text, p_contract text, p_period_no uuid, p_is_subscription boolean, p_product_type text)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT NOT p_is_subscription AND p_product_type IS DISTINCT FROM 'Consumable' AND p_transaction_id <> p_contract
        OR appstore.is_later_copy(p_environment, p_period_no, p_transaction_id)
$$;
COMMENT ON FUNCTION appstore.is_copy IS
    'Whether a transaction only repeats a purchase: Apple gives a non-consumable that is restored, and sometimes a period, another transactionId.';

CREATE OR REPLACE FUNCTION appstore.token_purchases(p_environment appstore.environment, p_contract text) RETURNS SETOF appstore.transactions
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.* FROM appstore.transactions AS t
    WHERE EXISTS (SELECT FROM appstore.user_tokens) -- evaluated once
      AND t.environment = p_environment AND t.original_transaction_id = p_contract AND t.first_token IS NOT NULL AND t.is_purchased
      AND NOT appstore.is_copy(t.environment, t.transaction_id, t.original_transaction_id, t.period_no, t.is_subscription, t.product_type)
$$;
COMMENT ON FUNCTION appstore.token_purchases IS
    'The purchases of a contract that were made with a token, once the shop has given a user one; else none. Inlined.';

CREATE OR REPLACE FUNCTION appstore.contract_claims(p_environment appstore.environment, p_contract text, p_has_migrated boolean)
RETURNS TABLE (kind appstore.claim_kind, source_id text, user_id text, effective_at timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
    WITH RECURSIVE before AS MATERIALIZED (
        SELECT earlier.id FROM unnest(appstore.with_migrated(p_environment, ARRAY[p_contract], true, false)) AS earlier (id)
        WHERE p_has_migrated AND earlier.id <> p_contract
    ), inherited AS MATERIALIZED (
        -- 0. What is stated of the contracts from which it has migrated: their users owned what has become this one. Their posts are judged
        --    with its own (6).
        SELECT k.kind, '+' || before.id || '>' || k.source_id AS source_id, k.user_id, k.effective_at,
               k.kind = 'link' AND EXISTS (SELECT FROM appstore.owner_links AS l
                                           WHERE l.original_transaction_id = before.id AND l.environment = p_environment
                                             AND l.linked_at = k.effective_at AND l.import_id IS NOT NULL OFFSET 0) AS is_imported
        FROM before CROSS JOIN LATERAL (
            SELECT k.* FROM appstore.ownership_claims AS k
            WHERE k.original_transaction_id = before.id AND k.environment = p_environment AND k.kind NOT IN ('client', 'restored')
              AND NOT starts_with(k.source_id, '+') OFFSET 0
        ) AS k
    ), later AS (
        -- 1. token: a transaction got another token later, which is an order of the shop (made in Production for either environment) or a
        --    user's. The token pays nothing, but claims the contract for that user. A copy's does not.
        SELECT t.transaction_id, named.user_id, t.purchase_date
        FROM appstore.transactions AS t
        CROSS JOIN LATERAL (
            SELECT o.user_id FROM appstore.token_orders AS o
            WHERE o.order_no = t.app_account_token AND o.environment = 'Production' AND o.ordered_at IS NOT NULL
            UNION ALL
            SELECT u.user_id FROM appstore.user_tokens AS u WHERE u.token = t.app_account_token OFFSET 0
        ) AS named
        WHERE t.environment = p_environment AND t.original_transaction_id = p_contract AND t.app_account_token <> t.first_token
          AND t.is_purchased
          AND NOT appstore.is_copy(t.environment, t.transaction_id, t.original_transaction_id, t.period_no, t.is_subscription, t.product_type)
    ), paid AS (
        SELECT 'token'::appstore.claim_kind AS kind, later.transaction_id AS source_id, later.user_id, later.purchase_date AS effective_at
        FROM later
        UNION ALL
        -- 2. order: a user's order was paid by one of the contract's periods.
        SELECT 'order', paid.order_no::text, paid.user_id, paid.paid_at
        FROM (
            SELECT o.order_no, o.user_id, o.paid_at FROM appstore.token_orders AS o
            WHERE o.original_transaction_id = p_contract AND o.environment = p_environment AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS paid
        UNION ALL
        -- 3. token: a purchase was made with a user's token. Renewals repeat the token and claim nothing: only a purchase whose token is
        --    not that of the purchase before it, also before a migration, does. So a link between two renewals holds, and a renewal changes no
        --    claim.
        SELECT 'token', named.transaction_id, u.user_id, named.purchase_date
        FROM (
            SELECT t.original_transaction_id, t.transaction_id, t.first_token, t.purchase_date,
                   lag(t.first_token) OVER (ORDER BY t.purchase_date, t.expires_date NULLS FIRST, length(t.transaction_id), t.transaction_id)
                       AS token_before
            FROM (
                SELECT own.* FROM appstore.token_purchases(p_environment, p_contract) AS own
                UNION ALL
                SELECT other.* FROM before CROSS JOIN LATERAL (
                    SELECT t.* FROM appstore.token_purchases(p_environment, before.id) AS t OFFSET 0
                ) AS other
            ) AS t
        ) AS named
        CROSS JOIN LATERAL (SELECT u.user_id FROM appstore.user_tokens AS u WHERE u.token = named.first_token OFFSET 0) AS u
        WHERE named.original_transaction_id = p_contract AND named.first_token IS DISTINCT FROM named.token_before
          AND NOT EXISTS (SELECT FROM later WHERE later.transaction_id = named.transaction_id)
    ), bought AS (
        SELECT paid.effective_at FROM paid
        UNION ALL
        SELECT inherited.effective_at FROM inherited WHERE inherited.kind IN ('order', 'token')
    ), stated AS (
        SELECT paid.* FROM paid
        UNION ALL
        SELECT inherited.kind, inherited.source_id, inherited.user_id, inherited.effective_at FROM inherited
        WHERE NOT (inherited.is_imported AND EXISTS (SELECT FROM bought WHERE bought.effective_at <= inherited.effective_at))
        UNION ALL
        -- 4. link: a command of an operator or the shop that was not taken back; of several at one instant the last. That of an import never
        --    overrides what was paid with a token before, also before a migration.
        (SELECT DISTINCT ON (l.linked_at) 'link'::appstore.claim_kind, lpad((extract(epoch FROM l.linked_at) * 1000000)::bigint::text, 20, '0'),
                l.user_id, l.linked_at
         FROM appstore.owner_links AS l
         WHERE l.environment = p_environment AND l.original_transaction_id = p_contract AND l.user_id IS NOT NULL
           AND l.linked_at > ALL (SELECT back.linked_at FROM appstore.owner_links AS back
                                  WHERE back.environment = p_environment AND back.original_transaction_id = p_contract AND back.user_id IS NULL)
           AND (l.import_id IS NULL OR NOT EXISTS (SELECT FROM bought WHERE bought.effective_at <= l.linked_at))
         ORDER BY l.linked_at, l.link_id DESC)
        UNION ALL
        -- 5. receipt: an app posted a receipt soon after a purchase and named it as just made, before any other post did. The claim moves the
        --    contract. Renewals are excluded, since no app makes them: by the JWS, or because they begin when another period ends. So are
        --    copies.
        (SELECT DISTINCT ON (s.transaction_id) 'receipt'::appstore.claim_kind, s.transaction_id, s.user_id, charge.purchase_date
         FROM appstore.client_posts AS s
         CROSS JOIN LATERAL (
             SELECT t.* FROM appstore.transactions AS t
             WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.first_token IS NULL
               AND t.transaction_reason IS DISTINCT FROM 'RENEWAL' OFFSET 0
         ) AS charge
         WHERE s.original_transaction_id = p_contract AND s.environment = p_environment AND s.is_receipt
           AND charge.original_transaction_id = p_contract
           AND s.received_at <= charge.purchase_date + interval '72 hours'
           AND NOT appstore.is_copy(charge.environment, charge.transaction_id, charge.original_transaction_id, charge.period_no,
                                    charge.is_subscription, charge.product_type)
           AND NOT EXISTS (SELECT FROM appstore.transactions AS before
                           WHERE before.original_transaction_id = p_contract AND before.environment = p_environment
                             AND before.transaction_id <> s.transaction_id
                             AND date_trunc('second', before.expires_date) = date_trunc('second', charge.purchase_date))
         ORDER BY s.transaction_id, s.received_at, s.event_id)
    ), known AS MATERIALIZED (
        SELECT stated.*, f.forgotten_at FROM stated LEFT JOIN appstore.forgotten_users AS f ON f.alias = stated.user_id
    ), posted AS MATERIALIZED (
        -- 6. The posts that may claim what nothing else claims, also those of before a migration: Apple's signature proves the purchase, not
        --    who holds it. A claim of a user who was forgotten before the post is none.
        --    client: a user posted a transaction soon after its purchase. It counts from the purchase, unless a forgotten user's claim is stronger.
        --    restored: a user posted a transaction later, or a receipt that holds the contract. It counts from the post. What is shared
        --    or assigned is claimed by a client post only.
        SELECT CASE WHEN fresh.is_fresh THEN 'client' ELSE 'restored' END::appstore.claim_kind AS kind,
               held.prefix || CASE WHEN fresh.is_fresh THEN s.transaction_id ELSE held.id END AS source_id, s.user_id,
               CASE WHEN fresh.is_fresh THEN charge.purchase_date ELSE s.received_at END AS effective_at, s.received_at, s.event_id,
               (held.prefix || held.id) COLLATE "C" AS contract
        FROM (SELECT p_contract AS id, '' AS prefix UNION ALL SELECT before.id, '+' || before.id || '>' FROM before) AS held
        CROSS JOIN LATERAL (
            SELECT p.* FROM appstore.client_posts AS p
            WHERE p.original_transaction_id = held.id AND p.environment = p_environment OFFSET 0
        ) AS s
        LEFT JOIN LATERAL (
            SELECT t.purchase_date, t.is_purchased FROM appstore.transactions AS t
            WHERE t.transaction_id = s.transaction_id AND t.environment = p_environment AND t.original_transaction_id = held.id
              AND NOT s.is_receipt OFFSET 0
        ) AS charge ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(s.received_at <= charge.purchase_date + interval '72 hours', false)
                   AND NOT EXISTS (SELECT FROM known
                                   WHERE known.forgotten_at < s.received_at
                                     AND (known.effective_at, known.kind) > (charge.purchase_date, 'client'::appstore.claim_kind)) AS is_fresh
        ) AS fresh
        WHERE (s.is_receipt OR charge.is_purchased OR fresh.is_fresh)
          AND NOT EXISTS (
              SELECT FROM (
                  SELECT known.forgotten_at FROM known
                  WHERE known.effective_at <= CASE WHEN fresh.is_fresh THEN charge.purchase_date ELSE s.received_at END
                  ORDER BY known.effective_at DESC, known.kind DESC, known.source_id DESC LIMIT 1
              ) AS owner
              WHERE (owner.forgotten_at < s.received_at) IS NOT TRUE)
    ), chosen AS (
        -- 7. Of these the first received; and after a user with a claim was forgotten, the next one received, from the post on where the
        --    forgotten user's claim is stronger. Of one receipt that has several contracts its own counts first.
        (
            (SELECT posted.* FROM posted ORDER BY posted.received_at, posted.event_id, posted.contract DESC LIMIT 1)
            UNION
            SELECT next.* FROM known
            CROSS JOIN LATERAL (
                SELECT posted.* FROM posted WHERE posted.received_at > known.forgotten_at
                ORDER BY posted.received_at, posted.event_id, posted.contract DESC LIMIT 1
            ) AS next
        )
        UNION
        SELECT CASE WHEN late.is_weaker THEN 'restored' ELSE next.kind END, CASE WHEN late.is_weaker THEN next.contract ELSE next.source_id END,
               next.user_id, CASE WHEN late.is_weaker THEN next.received_at ELSE next.effective_at END, next.received_at, next.event_id,
               next.contract
        FROM chosen
        JOIN appstore.forgotten_users AS f ON f.alias = chosen.user_id
        CROSS JOIN LATERAL (
            SELECT posted.* FROM posted
            WHERE posted.received_at > f.forgotten_at AND (posted.received_at, posted.event_id) > (chosen.received_at, chosen.event_id)
            ORDER BY posted.received_at, posted.event_id, posted.contract DESC LIMIT 1
        ) AS next
        CROSS JOIN LATERAL (SELECT (next.effective_at, next.kind) < (chosen.effective_at, chosen.kind) AS is_weaker) AS late
    )
    SELECT known.kind, known.source_id, known.user_id, known.effective_at FROM known
    UNION ALL
    -- Claims to one purchase, or to the contract, after a forgotten user's are numbered, and the last one counts.
    SELECT chosen.kind, chosen.source_id || coalesce('/' || nullif(row_number() OVER same, 1), ''), chosen.user_id, chosen.effective_at
    FROM chosen
    WINDOW same AS (PARTITION BY chosen.kind, chosen.source_id ORDER BY chosen.received_at, chosen.event_id)
$$;
COMMENT ON FUNCTION appstore.contract_claims IS 'The claims to a contract that orders, tokens, links and client posts make, and those to the contracts from which it has migrated.';
