-- Merges the transactions of a batch into their registers.
-- A worker sends it in the transaction of a batch, one element of each array for each transaction.
-- Returns environment, transaction_id, payload_hash and receipt_hash of the rows that changed.
--
-- A register has two halves: the newest JWS and the newest receipt. The plain columns hold what counts of both: the constants of the JWS
-- half where there is one, the state (expiry, revocation) of the later half. t is the row in the table, excluded the register of the batch,
-- which the worker has folded by the same rules.
--
-- Where one of the two lacks a member that cannot change and that the other has, appstore.join_constants joins these members (flag.joined).
-- A type that another statement has may make a purchase of another number: appstore.with_type.
--
-- One statement merges both halves in one pass in key order: with two passes, two batches that meet would lock rows in different orders.
-- COLLATE "C" is the order of the keys in every statement that locks them, whatever the collation of the database is.
-- unnest is in the select list because PostgreSQL would materialise a function in FROM column by column, which takes twice as long.
-- Each comparison of versions is evaluated once for a row: OFFSET 0 keeps the planner from copying it into every CASE.
INSERT INTO appstore.transactions AS t (
    environment, transaction_id,
    original_transaction_id, web_order_line_item_id, bundle_id, product_id, purchase_date, original_purchase_date, quantity, offer_type,
    offer_identifier, offer_discount_type, offer_period, storefront, storefront_id, transaction_reason, currency, price, app_transaction_id,
    billing_plan_type, period_no,
    product_type, in_app_ownership_type, subscription_group_identifier, is_subscription, app_account_token,
    expires_date, revocation_date, revocation_reason, is_upgraded,
    revocation_type, revocation_percentage, signed_date, payload_hash,
    receipt_date, receipt_hash, receipt_expires_date, receipt_revocation_date, receipt_revocation_reason, receipt_is_upgraded,
    first_signed_date, first_token, first_token_signed_date, first_token_hash, known, order_no
)
SELECT u.*, u.period_no -- the value that derive_ledger gives a renewal, which saves a second write of the row
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment, unnest(:transaction_ids::text[] COLLATE "C") AS transaction_id,

           unnest(:original_transaction_ids::text[]) AS original_transaction_id,
           unnest(:web_order_line_item_ids::text[]) AS web_order_line_item_id,
           unnest(:bundle_ids::text[]) AS bundle_id,
           unnest(:product_ids::text[]) AS product_id,
           unnest(:purchase_dates::timestamptz[]) AS purchase_date,
           unnest(:original_purchase_dates::timestamptz[]) AS original_purchase_date,
           unnest(:quantities::integer[]) AS quantity,
           unnest(:offer_types::integer[]) AS offer_type,
           unnest(:offer_identifiers::text[]) AS offer_identifier,
           unnest(:offer_discount_types::text[]) AS offer_discount_type,
           unnest(:offer_periods::text[]) AS offer_period,
           unnest(:storefronts::text[]) AS storefront,
           unnest(:storefront_ids::text[]) AS storefront_id,
           unnest(:transaction_reasons::text[]) AS transaction_reason,
           unnest(:currencies::text[]) AS currency,
           unnest(:prices::bigint[]) AS price,
           unnest(:app_transaction_ids::text[]) AS app_transaction_id,
           unnest(:billing_plan_types::text[]) AS billing_plan_type,
           unnest(:period_nos::uuid[]) AS period_no,

           unnest(:product_types::text[]) AS product_type,
           unnest(:in_app_ownership_types::text[]) AS in_app_ownership_type,
           unnest(:subscription_group_identifiers::text[]) AS subscription_group_identifier,
           unnest(:is_subscription::boolean[]) AS is_subscription,
           unnest(:app_account_tokens::uuid[]) AS app_account_token,

           unnest(:expires_dates::timestamptz[]) AS expires_date,
           unnest(:revocation_dates::timestamptz[]) AS revocation_date,
           unnest(:revocation_reasons::integer[]) AS revocation_reason,
           unnest(:is_upgraded::boolean[]) AS is_upgraded,

           unnest(:revocation_types::text[]) AS revocation_type,
           unnest(:revocation_percentages::integer[]) AS revocation_percentage,
           unnest(:signed_dates::timestamptz[]) AS signed_date,
           unnest(:payload_hashes::bytea[]) AS payload_hash,

           unnest(:receipt_dates::timestamptz[]) AS receipt_date,
           unnest(:receipt_hashes::bytea[]) AS receipt_hash,
           unnest(:receipt_expires_dates::timestamptz[]) AS receipt_expires_date,
           unnest(:receipt_revocation_dates::timestamptz[]) AS receipt_revocation_date,
           unnest(:receipt_revocation_reasons::integer[]) AS receipt_revocation_reason,
           unnest(:receipt_is_upgraded::boolean[]) AS receipt_is_upgraded,

           unnest(:first_signed_dates::timestamptz[]) AS first_signed_date,
           unnest(:first_tokens::uuid[]) AS first_token,
           unnest(:first_token_signed_dates::timestamptz[]) AS first_token_signed_date,
           unnest(:first_token_hashes::bytea[]) AS first_token_hash,
           unnest(:known::jsonb[]) AS known
) AS u
ORDER BY u.environment, u.transaction_id
ON CONFLICT (environment, transaction_id) DO UPDATE
SET (
    original_transaction_id, web_order_line_item_id, bundle_id, product_id, purchase_date, original_purchase_date, quantity, offer_type,
    offer_identifier, offer_discount_type, offer_period, storefront, storefront_id, transaction_reason, currency, price, app_transaction_id,
    billing_plan_type, period_no, left_contract,
    product_type, in_app_ownership_type, subscription_group_identifier, is_subscription, app_account_token,
    expires_date, revocation_date, revocation_reason, is_upgraded,
    revocation_type, revocation_percentage, signed_date, payload_hash,
    receipt_date, receipt_hash, receipt_expires_date, receipt_revocation_date, receipt_revocation_reason, receipt_is_upgraded,
    first_signed_date, first_token, first_token_signed_date, first_token_hash, token_changed, left_token,
    known
) = (
    SELECT -- Constants: those of the newest JWS, or of the newest receipt as long as there is no JWS.
           CASE WHEN flag.newer_constants THEN excluded.original_transaction_id ELSE t.original_transaction_id END,
           CASE WHEN flag.newer_constants THEN excluded.web_order_line_item_id ELSE t.web_order_line_item_id END,
           CASE WHEN flag.newer_constants THEN excluded.bundle_id ELSE t.bundle_id END,
           CASE WHEN flag.newer_constants THEN excluded.product_id ELSE t.product_id END,
           CASE WHEN flag.is_joined THEN (flag.joined).purchase_date
                WHEN flag.newer_constants THEN excluded.purchase_date ELSE t.purchase_date END,
           CASE WHEN flag.is_joined THEN (flag.joined).original_purchase_date
                WHEN flag.newer_constants THEN excluded.original_purchase_date ELSE t.original_purchase_date END,
           CASE WHEN flag.is_joined THEN (flag.joined).quantity
                WHEN flag.newer_constants THEN excluded.quantity ELSE t.quantity END,
           CASE WHEN flag.is_joined THEN (flag.joined).offer_type
                WHEN flag.newer_constants THEN excluded.offer_type ELSE t.offer_type END,
           CASE WHEN flag.is_joined THEN (flag.joined).offer_identifier
                WHEN flag.newer_constants THEN excluded.offer_identifier ELSE t.offer_identifier END,
           CASE WHEN flag.is_joined THEN (flag.joined).offer_discount_type
                WHEN flag.newer_constants THEN excluded.offer_discount_type ELSE t.offer_discount_type END,
           CASE WHEN flag.is_joined THEN (flag.joined).offer_period
                WHEN flag.newer_constants THEN excluded.offer_period ELSE t.offer_period END,
           CASE WHEN flag.is_joined THEN (flag.joined).storefront
                WHEN flag.newer_constants THEN excluded.storefront ELSE t.storefront END,
           CASE WHEN flag.is_joined THEN (flag.joined).storefront_id
                WHEN flag.newer_constants THEN excluded.storefront_id ELSE t.storefront_id END,
           CASE WHEN flag.is_joined THEN (flag.joined).transaction_reason
                WHEN flag.newer_constants THEN excluded.transaction_reason ELSE t.transaction_reason END,
           CASE WHEN flag.is_joined THEN (flag.joined).currency
                WHEN flag.newer_constants THEN excluded.currency ELSE t.currency END,
           CASE WHEN flag.is_joined THEN (flag.joined).price
                WHEN flag.newer_constants THEN excluded.price ELSE t.price END,
           CASE WHEN flag.is_joined THEN (flag.joined).app_transaction_id
                WHEN flag.newer_constants THEN excluded.app_transaction_id ELSE t.app_transaction_id END,
           CASE WHEN flag.newer_constants THEN excluded.billing_plan_type ELSE t.billing_plan_type END,
           CASE WHEN flag.is_joined THEN (flag.joined).period_no
                WHEN flag.no_jws AND (t.product_type, t.is_subscription) IS DISTINCT FROM (excluded.product_type, excluded.is_subscription)
                THEN (appstore.with_type(CASE WHEN flag.newer_constants THEN excluded ELSE t END,
                                         greatest(t.product_type, excluded.product_type), t.is_subscription OR excluded.is_subscription)).period_no
                WHEN flag.newer_constants THEN excluded.period_no ELSE t.period_no END,
           -- The contract that the transaction leaves is kept, because its access must be derived again.
           CASE WHEN flag.newer_constants AND excluded.original_transaction_id <> t.original_transaction_id
                THEN t.original_transaction_id ELSE t.left_contract END,

           -- Constants that only some forms of a receipt have: without a JWS, a value of any receipt is kept.
           CASE WHEN flag.is_joined THEN (flag.joined).product_type
                WHEN flag.newer_jws THEN excluded.product_type
                WHEN flag.no_jws THEN greatest(t.product_type, excluded.product_type) ELSE t.product_type END,
           CASE WHEN flag.is_joined THEN (flag.joined).in_app_ownership_type
                WHEN flag.newer_jws THEN excluded.in_app_ownership_type
                WHEN flag.no_jws THEN greatest(t.in_app_ownership_type, excluded.in_app_ownership_type)
                ELSE t.in_app_ownership_type END,
           CASE WHEN flag.is_joined THEN (flag.joined).subscription_group_identifier
                WHEN flag.newer_jws THEN excluded.subscription_group_identifier
                WHEN flag.no_jws
                THEN greatest(t.subscription_group_identifier, excluded.subscription_group_identifier)
                ELSE t.subscription_group_identifier END,
           -- Its type says whether it is a subscription; without one, any receipt.
           CASE WHEN flag.is_joined THEN (flag.joined).is_subscription
                WHEN flag.newer_jws THEN excluded.is_subscription
                WHEN flag.no_jws THEN coalesce(greatest(t.product_type, excluded.product_type) = 'Auto-Renewable Subscription',
                                               t.is_subscription OR excluded.is_subscription)
                ELSE t.is_subscription END,
           -- Without a JWS, the token is the first one. The same JWS again gives a token that an earlier release did not take for one.
           CASE WHEN flag.newer_jws OR flag.same_jws THEN excluded.app_account_token
                WHEN flag.no_jws AND flag.earlier_token THEN excluded.first_token ELSE t.app_account_token END,

           -- State: that of the later half.
           CASE WHEN flag.newer_state THEN excluded.expires_date ELSE t.expires_date END,
           CASE WHEN flag.newer_state THEN excluded.revocation_date ELSE t.revocation_date END,
           CASE WHEN flag.newer_state THEN excluded.revocation_reason ELSE t.revocation_reason END,
           CASE WHEN flag.newer_state THEN excluded.is_upgraded ELSE t.is_upgraded END,

           -- The JWS half, and the refunded part of the price, which no receipt holds.
           CASE WHEN flag.newer_jws THEN excluded.revocation_type ELSE t.revocation_type END,
           CASE WHEN flag.newer_jws THEN excluded.revocation_percentage ELSE t.revocation_percentage END,
           CASE WHEN flag.newer_jws THEN excluded.signed_date ELSE t.signed_date END,
           CASE WHEN flag.newer_jws THEN excluded.payload_hash ELSE t.payload_hash END,

           -- The receipt half.
           CASE WHEN flag.newer_receipt THEN excluded.receipt_date ELSE t.receipt_date END,
           CASE WHEN flag.newer_receipt THEN excluded.receipt_hash ELSE t.receipt_hash END,
           CASE WHEN flag.newer_receipt THEN excluded.receipt_expires_date ELSE t.receipt_expires_date END,
           CASE WHEN flag.newer_receipt THEN excluded.receipt_revocation_date ELSE t.receipt_revocation_date END,
           CASE WHEN flag.newer_receipt THEN excluded.receipt_revocation_reason ELSE t.receipt_revocation_reason END,
           CASE WHEN flag.newer_receipt THEN excluded.receipt_is_upgraded ELSE t.receipt_is_upgraded END,

           -- The earliest signed fact of either half.
           least(t.first_signed_date, excluded.first_signed_date),
           CASE WHEN flag.earlier_token THEN excluded.first_token ELSE t.first_token END,
           -- The version of the token is written where it is no longer that of the JWS half.
           CASE WHEN flag.earlier_token
                THEN coalesce(excluded.first_token_signed_date, CASE WHEN NOT flag.newer_jws THEN excluded.signed_date END)
                ELSE coalesce(t.first_token_signed_date, CASE WHEN flag.newer_jws AND t.first_token IS NOT NULL THEN t.signed_date END) END,
           CASE WHEN flag.earlier_token
                THEN coalesce(excluded.first_token_hash, CASE WHEN NOT flag.newer_jws THEN excluded.payload_hash END)
                ELSE coalesce(t.first_token_hash, CASE WHEN flag.newer_jws AND t.first_token IS NOT NULL THEN t.payload_hash END) END,
           flag.token_changed,
           CASE WHEN flag.token_changed THEN t.first_token END,
           CASE WHEN flag.is_joined THEN (flag.joined).known ELSE t.known END
    FROM (
        SELECT gap.*,
               -- greatest ignores nulls.
               (gap.newer_jws AND coalesce(excluded.signed_date >= greatest(t.receipt_date, excluded.receipt_date), true))
               OR (gap.newer_receipt AND coalesce(excluded.receipt_date > greatest(t.signed_date, excluded.signed_date), true))
                   AS newer_state,
               (gap.earlier_token AND excluded.first_token IS DISTINCT FROM t.first_token)
               OR t.is_purchased <> (CASE WHEN gap.is_joined THEN (gap.joined).in_app_ownership_type
                                          WHEN gap.newer_jws THEN excluded.in_app_ownership_type
                                          WHEN gap.no_jws THEN greatest(t.in_app_ownership_type, excluded.in_app_ownership_type)
                                          ELSE t.in_app_ownership_type END IS DISTINCT FROM 'FAMILY_SHARED')
               OR t.purchase_date <> CASE WHEN gap.is_joined THEN (gap.joined).purchase_date
                                          WHEN gap.newer_constants THEN excluded.purchase_date ELSE t.purchase_date END
               OR gap.newer_constants AND (excluded.product_id, excluded.bundle_id) <> (t.product_id, t.bundle_id) AS token_changed
        FROM (
            SELECT half.*, half.newer_jws OR (half.newer_receipt AND t.signed_date IS NULL) AS newer_constants,
                   CASE WHEN half.is_joined THEN appstore.join_constants(t, excluded) END AS joined
            FROM (
                SELECT appstore.is_newer(excluded.signed_date, excluded.payload_hash, t.signed_date, t.payload_hash) AS newer_jws,
                       appstore.is_newer(excluded.receipt_date, excluded.receipt_hash, t.receipt_date, t.receipt_hash) AS newer_receipt,
                       excluded.first_token IS NOT NULL
                       AND (t.first_token IS NULL
                            OR appstore.is_newer(
                                coalesce(t.first_token_signed_date, t.signed_date), coalesce(t.first_token_hash, t.payload_hash),
                                coalesce(excluded.first_token_signed_date, excluded.signed_date),
                                coalesce(excluded.first_token_hash, excluded.payload_hash))) AS earlier_token,
                       t.signed_date IS NULL AND excluded.signed_date IS NULL AS no_jws,
                       excluded.signed_date = t.signed_date AND excluded.payload_hash = t.payload_hash AS same_jws,
                       (t.signed_date IS NOT NULL OR excluded.signed_date IS NOT NULL)
                       AND (t.known IS NOT NULL OR excluded.known IS NOT NULL
                            OR CASE WHEN appstore.is_newer(excluded.signed_date, excluded.payload_hash, t.signed_date, t.payload_hash)
                                    THEN appstore.lacks_constants(excluded, t) ELSE appstore.lacks_constants(t, excluded) END) AS is_joined
                OFFSET 0
            ) AS half
            OFFSET 0
        ) AS gap
        OFFSET 0
    ) AS flag
)
-- Whether anything of the row changes.
WHERE appstore.is_newer(excluded.signed_date, excluded.payload_hash, t.signed_date, t.payload_hash)
   OR appstore.is_newer(excluded.receipt_date, excluded.receipt_hash, t.receipt_date, t.receipt_hash)
   OR excluded.first_signed_date < t.first_signed_date
   OR (excluded.signed_date = t.signed_date AND excluded.payload_hash = t.payload_hash
       AND excluded.app_account_token IS DISTINCT FROM t.app_account_token)
   OR (excluded.first_token IS NOT NULL
       AND (t.first_token IS NULL
            OR appstore.is_newer(
                coalesce(t.first_token_signed_date, t.signed_date), coalesce(t.first_token_hash, t.payload_hash),
                coalesce(excluded.first_token_signed_date, excluded.signed_date),
                coalesce(excluded.first_token_hash, excluded.payload_hash))))
   OR (t.signed_date IS NULL AND excluded.signed_date IS NULL
       AND ((excluded.is_subscription AND NOT t.is_subscription AND coalesce(t.product_type, excluded.product_type) IS NULL)
            OR (t.product_type, t.in_app_ownership_type, t.subscription_group_identifier)
               IS DISTINCT FROM (greatest(t.product_type, excluded.product_type),
                                 greatest(t.in_app_ownership_type, excluded.in_app_ownership_type),
                                 greatest(t.subscription_group_identifier, excluded.subscription_group_identifier))))
   OR (t.signed_date IS NOT NULL
       AND (t.known IS NOT NULL OR excluded.known IS NOT NULL OR appstore.lacks_constants(t, excluded))
       AND appstore.join_constants(t, excluded) IS DISTINCT FROM t)
RETURNING t.environment::text, t.transaction_id, t.payload_hash, t.receipt_hash;
