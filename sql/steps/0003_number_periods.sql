-- breaking
-- A worker of the release before would number periods, and read tokens, in the old way.
-- Numbers of periods become UUIDs of version 8, so that any token of an app names an order or a user: those that apps derive have version 5.
-- All locks of this upgrade first, in the order of the writers: a shop or an operator that waits for one then holds none of the others.
LOCK TABLE appstore.contracts, appstore.transactions, appstore.refund_requests, appstore.orders, appstore.effect_log IN ACCESS EXCLUSIVE MODE;
UPDATE appstore.transactions
SET period_no = overlay(period_no::text PLACING '8' FROM 15 FOR 1)::uuid,
    order_no = CASE WHEN substr(order_no::text, 15, 1) = '5' THEN overlay(order_no::text PLACING '8' FROM 15 FOR 1)::uuid ELSE order_no END
WHERE substr(period_no::text, 15, 1) = '5';
UPDATE appstore.orders
SET period_no = overlay(period_no::text PLACING '8' FROM 15 FOR 1)::uuid,
    order_no = CASE WHEN substr(order_no::text, 15, 1) = '5' THEN overlay(order_no::text PLACING '8' FROM 15 FOR 1)::uuid ELSE order_no END
WHERE substr(period_no::text, 15, 1) = '5';
UPDATE appstore.effect_log SET order_no = overlay(order_no::text PLACING '8' FROM 15 FOR 1)::uuid WHERE substr(order_no::text, 15, 1) = '5';

COMMENT ON COLUMN appstore.transactions.app_account_token IS
    'The order or user that Apple''s latest statement names; null also for a version 8 UUID, which is no token but may be a period''s number.';
COMMENT ON COLUMN appstore.transactions.period_no IS
    'UUIDv8 of the paid period (or of the transaction, for products without periods): its order number where no token pays for it.';
