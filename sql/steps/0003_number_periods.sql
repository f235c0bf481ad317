-- breaking
-- A worker of the release before would number periods, and read tokens, in the old way.
-- Numbers of periods become UUIDs of version 8, so that any token of an app names an order or a user: those that apps derive have version 5.
-- All locks of this upgrade first, in the order of the writers: a shop or an operator that waits for one then holds none of the others.
LOCK TABLE appstore.contracts, appstore.transactions, appstore.refund_requests, appstore.orders, appstore.effect_log IN ACCESS EXCLUSIVE MODE;
-- A token of version 8 names nothing from now on. What it has paid before stays paid.
DO $$
DECLARE
    v_made record;
BEGIN
    SELECT count(DISTINCT o.order_no) AS orders, array_agg(DISTINCT o.order_no) FILTER (WHERE o.status = 'pending') AS pending INTO v_made
    FROM appstore.orders AS o WHERE o.ordered_at IS NOT NULL AND substr(o.order_no::text, 15, 1) = '8';
    IF v_made.orders > 0 THEN
        RAISE WARNING '% orders of the shop have a version 8 UUID as their number. From now on no appAccountToken names such an order. These are '
            'not paid: %. Make an order with another number in the place of each that a customer may still pay. Purchases with such a token pay no '
            'order: the app posts them, or link_owner names their user.', v_made.orders,
            coalesce(array_to_string(v_made.pending[:20], ', ') || CASE WHEN cardinality(v_made.pending) > 20 THEN ', …' ELSE '' END, 'none');
    END IF;
END
$$;
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
