-- Merges what Notifications V1 and verifyReceipt say of renewals into registers of their own, one for each contract and app.
-- A worker sends it in the transaction of a batch, after merge_contracts, one element of each array for each register.
-- Returns environment, original_transaction_id and bundle_id of the rows that changed.
--
-- A newer fact replaces the register as a whole; the hash decides between facts of one instant.
--
-- list register:
--   provenance text, product_id text, auto_renew_product_id text, auto_renew_status integer, is_in_billing_retry_period boolean,
--   expiration_intent integer, grace_period_expires_date timestamptz, price_increase_status integer, promotional_offer_id text,
--   offer_code_ref_name text, stated_at timestamptz, fact_hash bytea
INSERT INTO appstore.v1_renewals AS l (environment, original_transaction_id, bundle_id, {register})
SELECT u.*
FROM ( -- not a function in FROM, which PostgreSQL would materialise column by column
    SELECT unnest(:environment::appstore.environment[]) AS environment,
           unnest(:original_transaction_id::text[] COLLATE "C") AS original_transaction_id, unnest(:bundle_id::text[] COLLATE "C") AS bundle_id,
           {register: unnest(:%name::%type[]) AS %name}
) AS u
ORDER BY u.environment, u.original_transaction_id, u.bundle_id
ON CONFLICT (original_transaction_id, environment, bundle_id) DO UPDATE SET ({register}) = ({register: excluded.%name})
WHERE (excluded.stated_at, excluded.fact_hash) > (l.stated_at, l.fact_hash)
RETURNING l.environment::text, l.original_transaction_id, l.bundle_id;
