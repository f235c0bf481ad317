-- Locks all contracts that a batch concerns, makes the missing rows, and merges renewal info and status into the registers.
-- A worker sends it in the transaction of a batch, before any other row of the ledger, one element of each array for each contract; all but
-- the key is null for a contract that is only locked. The rows stay locked, also those that do not change: only the transaction that holds a
-- contract derives its part of the ledger. appstore.apply_facts deletes a row again that has no facts.
-- Returns environment and original_transaction_id of the rows that are new or changed.
--
-- A newer fact replaces the register as a whole; the hash decides between facts of one instant. One statement, so that rows are locked and made
-- in one order: two batches that make rows of the same contracts wait for one another, and never both.
--
-- list register:
--   renewal_status integer, renewal_product_id text, auto_renew_product_id text, auto_renew_status integer, expiration_intent integer,
--   is_in_billing_retry_period boolean, price_increase_status integer, grace_period_expires_date timestamptz, renewal_date timestamptz,
--   renewal_price bigint, renewal_currency text, renewal_offer_type integer, renewal_offer_identifier text, renewal_offer_discount_type text,
--   renewal_offer_period text, eligible_win_back_offer_ids jsonb, recent_subscription_start_date timestamptz, renewal_app_account_token uuid,
--   renewal_app_transaction_id text, renewal_billing_plan_type text, renewal_signed_date timestamptz, renewal_hash bytea,
--   renewal_quantity integer, renewal_commitment_info jsonb
INSERT INTO appstore.contracts AS c (environment, original_transaction_id, {register})
SELECT u.*
FROM ( -- not a function in FROM, which PostgreSQL would materialise column by column
    SELECT unnest(:environment::appstore.environment[]) AS environment,
           unnest(:original_transaction_id::text[] COLLATE "C") AS original_transaction_id, {register: unnest(:%name::%type[]) AS %name}
) AS u
ORDER BY u.environment, u.original_transaction_id
ON CONFLICT (original_transaction_id, environment) DO UPDATE SET ({register}) = ({register: excluded.%name})
WHERE appstore.is_newer(excluded.renewal_signed_date, excluded.renewal_hash, c.renewal_signed_date, c.renewal_hash)
   -- The same fact again gives what an earlier release did not read.
   OR ((excluded.renewal_signed_date, excluded.renewal_hash) = (c.renewal_signed_date, c.renewal_hash)
       AND (excluded.renewal_quantity, excluded.renewal_commitment_info, excluded.renewal_price)
           IS DISTINCT FROM (c.renewal_quantity, c.renewal_commitment_info, c.renewal_price))
RETURNING c.environment::text, c.original_transaction_id;
