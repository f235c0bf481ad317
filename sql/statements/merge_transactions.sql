-- Merges the transactions of a batch into their registers.
-- A worker sends it in the transaction of a batch, one element of each array for each transaction.
-- Returns environment, transaction_id, payload_hash and receipt_hash of the rows that changed.
--
-- A register has two halves: the newest JWS and the newest receipt. The plain columns hold what counts of both: the constants of the JWS
-- half where there is one, the state (expiry, revocation) of the later half. t is the row in the table, excluded the register of the batch,
-- which the worker has folded by the same rules.
--
-- Where one of the two lacks a member that cannot change and that the other has, appstore.join_constants joins these members (flag.joined).
-- The same JWS again gives what an earlier release did not read (flag.same_jws): of a lasting member it has the value, or says nothing.
-- A type that another statement has may make a purchase of another number: appstore.with_type.
--
-- One statement merges both halves in one pass in key order: with two passes, two batches that meet would lock rows in different orders.
-- COLLATE "C" is the order of the keys in every statement that locks them, whatever the collation of the database is.
-- unnest is in the select list because PostgreSQL would materialise a function in FROM column by column, which takes twice as long.
-- Each comparison of versions is evaluated once for a row: OFFSET 0 keeps the planner from copying it into every CASE.
--
-- The columns, by the rule that merges them:
-- list constant:
--   original_transaction_id text, web_order_line_item_id text, bundle_id text, product_id text, billing_plan_type text
-- list lasting:
--   purchase_date timestamptz, original_purchase_date timestamptz, quantity integer, offer_type integer, offer_identifier text,
--   offer_discount_type text, offer_period text, storefront text, storefront_id text, transaction_reason text, currency text, price bigint,
--   app_transaction_id text, previous_original_transaction_id text
-- list of_any_receipt:
--   product_type text, in_app_ownership_type text, subscription_group_identifier text
-- list state:
--   expires_date timestamptz, revocation_date timestamptz, revocation_reason integer, is_upgraded boolean
-- list jws:
--   revocation_type text, revocation_percentage integer, signed_date timestamptz, payload_hash bytea, multi_seat_info jsonb,
--   commitment_info jsonb, additional_transaction_reason text
-- list receipt:
--   receipt_date timestamptz, receipt_hash bytea, receipt_expires_date timestamptz, receipt_revocation_date timestamptz,
--   receipt_revocation_reason integer, receipt_is_upgraded boolean
-- list single:
--   period_no uuid, is_subscription boolean, app_account_token uuid, first_signed_date timestamptz, first_token uuid,
--   first_token_signed_date timestamptz, first_token_hash bytea, known jsonb
INSERT INTO appstore.transactions AS t (
    environment, transaction_id, {constant lasting of_any_receipt state jws receipt single}, order_no, is_purchased
)
SELECT u.*, u.period_no, -- the value that derive_ledger gives a renewal, which saves a second write of the row
       appstore.is_purchase(u.in_app_ownership_type)
FROM (
    SELECT unnest(:environment::appstore.environment[]) AS environment, unnest(:transaction_id::text[] COLLATE "C") AS transaction_id,
           {constant lasting of_any_receipt state jws receipt single: unnest(:%name::%type[]) AS %name}
) AS u
ORDER BY u.environment, u.transaction_id
ON CONFLICT (environment, transaction_id) DO UPDATE
SET (
    {constant lasting of_any_receipt state jws receipt single}, left_contract, is_purchased, token_changed, left_token
) = (
    SELECT -- Constants: those of the newest JWS, or of the newest receipt as long as there is no JWS.
           {constant: CASE WHEN flag.newer_constants THEN excluded.%name ELSE t.%name END},
           {lasting: CASE WHEN flag.is_joined THEN (flag.joined).%name WHEN flag.same_jws THEN coalesce(excluded.%name, t.%name)
                          WHEN flag.newer_constants THEN excluded.%name ELSE t.%name END},
           -- Constants that only some forms of a receipt have: without a JWS, a value of any receipt is kept.
           {of_any_receipt: CASE WHEN flag.is_joined THEN (flag.joined).%name WHEN flag.newer_jws THEN excluded.%name
                                 WHEN flag.no_jws THEN greatest(t.%name, excluded.%name) ELSE t.%name END},
           -- State: that of the later half.
           {state: CASE WHEN flag.newer_state THEN excluded.%name ELSE t.%name END},
           -- The JWS half, and the refunded part of the price, which no receipt holds; the receipt half.
           {jws: CASE WHEN flag.newer_jws OR flag.same_jws THEN excluded.%name ELSE t.%name END},
           {receipt: CASE WHEN flag.newer_receipt THEN excluded.%name ELSE t.%name END},
           CASE WHEN flag.is_joined THEN (flag.joined).period_no
                WHEN flag.no_jws AND (t.product_type, t.is_subscription) IS DISTINCT FROM (excluded.product_type, excluded.is_subscription)
                THEN (appstore.with_type(CASE WHEN flag.newer_constants THEN excluded ELSE t END,
                                         greatest(t.product_type, excluded.product_type), t.is_subscription OR excluded.is_subscription)).period_no
                WHEN flag.newer_constants THEN excluded.period_no ELSE t.period_no END,
           -- Its type says whether it is a subscription; without one, any receipt.
           CASE WHEN flag.is_joined THEN (flag.joined).is_subscription
                WHEN flag.newer_jws OR flag.same_jws THEN excluded.is_subscription
                WHEN flag.no_jws THEN appstore.is_subscription(greatest(t.product_type, excluded.product_type),
                                                               t.is_subscription OR excluded.is_subscription)
                ELSE t.is_subscription END,
           -- Without a JWS, the token is the first one.
           CASE WHEN flag.newer_jws OR flag.same_jws THEN excluded.app_account_token
                WHEN flag.no_jws AND flag.earlier_token THEN excluded.first_token ELSE t.app_account_token END,
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
           CASE WHEN flag.is_joined THEN (flag.joined).known ELSE t.known END,
           -- The contract that the transaction leaves is kept, because its access must be derived again.
           CASE WHEN flag.newer_constants AND excluded.original_transaction_id <> t.original_transaction_id
                THEN t.original_transaction_id ELSE t.left_contract END,
           flag.is_purchased,
           flag.token_changed,
           CASE WHEN flag.token_changed THEN t.first_token END
    FROM (
        SELECT owned.*,
               -- greatest ignores nulls.
               (owned.newer_jws AND coalesce(excluded.signed_date >= greatest(t.receipt_date, excluded.receipt_date), true))
               OR (owned.newer_receipt AND coalesce(excluded.receipt_date > greatest(t.signed_date, excluded.signed_date), true))
                   AS newer_state,
               (owned.earlier_token AND excluded.first_token IS DISTINCT FROM t.first_token)
               OR t.is_purchased <> owned.is_purchased
               OR t.purchase_date <> CASE WHEN owned.is_joined THEN (owned.joined).purchase_date
                                          WHEN owned.newer_constants THEN excluded.purchase_date ELSE t.purchase_date END
               OR owned.newer_constants AND (excluded.product_id, excluded.bundle_id) <> (t.product_id, t.bundle_id) AS token_changed
        FROM (
            SELECT gap.*, appstore.is_purchase(CASE WHEN gap.is_joined THEN (gap.joined).in_app_ownership_type
                                                    WHEN gap.newer_jws THEN excluded.in_app_ownership_type
                                                    WHEN gap.no_jws THEN greatest(t.in_app_ownership_type, excluded.in_app_ownership_type)
                                                    ELSE t.in_app_ownership_type END) AS is_purchased
            FROM (
                SELECT half.*, half.newer_jws OR half.same_jws OR (half.newer_receipt AND t.signed_date IS NULL) AS newer_constants,
                       CASE WHEN half.is_joined THEN appstore.join_constants(t, excluded) END AS joined
                FROM (
                    SELECT appstore.is_newer(excluded.signed_date, excluded.payload_hash, t.signed_date, t.payload_hash) AS newer_jws,
                           coalesce((excluded.signed_date, excluded.payload_hash) = (t.signed_date, t.payload_hash), false) AS same_jws,
                           appstore.is_newer(excluded.receipt_date, excluded.receipt_hash, t.receipt_date, t.receipt_hash) AS newer_receipt,
                           excluded.first_token IS NOT NULL
                           AND (t.first_token IS NULL
                                OR appstore.is_newer(
                                    coalesce(t.first_token_signed_date, t.signed_date), coalesce(t.first_token_hash, t.payload_hash),
                                    coalesce(excluded.first_token_signed_date, excluded.signed_date),
                                    coalesce(excluded.first_token_hash, excluded.payload_hash))) AS earlier_token,
                           t.signed_date IS NULL AND excluded.signed_date IS NULL AS no_jws,
                           (t.signed_date IS NOT NULL OR excluded.signed_date IS NOT NULL)
                           AND (t.known IS NOT NULL OR excluded.known IS NOT NULL
                                OR CASE WHEN appstore.is_newer(excluded.signed_date, excluded.payload_hash, t.signed_date, t.payload_hash)
                                        THEN appstore.lacks_constants(excluded, t) ELSE appstore.lacks_constants(t, excluded) END) AS is_joined
                    OFFSET 0
                ) AS half
                OFFSET 0
            ) AS gap
            OFFSET 0
        ) AS owned
        OFFSET 0
    ) AS flag
)
-- Whether anything of the row changes.
WHERE appstore.is_newer(excluded.signed_date, excluded.payload_hash, t.signed_date, t.payload_hash)
   OR appstore.is_newer(excluded.receipt_date, excluded.receipt_hash, t.receipt_date, t.receipt_hash)
   OR excluded.first_signed_date < t.first_signed_date
   OR (excluded.signed_date = t.signed_date AND excluded.payload_hash = t.payload_hash
       AND ((excluded.app_account_token, excluded.multi_seat_info, excluded.commitment_info, excluded.additional_transaction_reason)
            IS DISTINCT FROM (t.app_account_token, t.multi_seat_info, t.commitment_info, t.additional_transaction_reason)
            OR (excluded.previous_original_transaction_id IS NOT NULL AND t.previous_original_transaction_id IS NULL)
            OR excluded.price <> t.price OR (t.known IS NULL AND excluded.is_subscription <> t.is_subscription)))
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
