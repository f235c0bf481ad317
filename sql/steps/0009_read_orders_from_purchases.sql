-- breaking: a worker of the release before would write orders of purchases, which appstore.orders now reads from the transactions
LOCK TABLE appstore.contracts, appstore.transactions, appstore.orders IN ACCESS EXCLUSIVE MODE;
CREATE TABLE appstore.token_orders (
    environment            appstore.environment NOT NULL,
    order_no               uuid        NOT NULL,
    -- Given by the shop when it made the order.
    user_id                text        COLLATE "C",
    product_id             text        COLLATE "C",
    bundle_id              text        COLLATE "C",
    ordered_at             timestamptz,
    -- Derived from the purchase that pays it.
    status                 text        NOT NULL COLLATE "C" DEFAULT 'pending',
    reason                 text        COLLATE "C",
    period_no              uuid,
    transaction_id         text        COLLATE "C",
    original_transaction_id text       COLLATE "C",
    web_order_line_item_id text        COLLATE "C",
    paid_product_id        text        COLLATE "C",
    paid_at                timestamptz,
    quantity               integer,
    price                  bigint,
    currency               text        COLLATE "C",
    PRIMARY KEY (order_no, environment),
    CONSTRAINT token_orders_status_is_known CHECK (status IN ('pending', 'paid', 'partly_refunded', 'refunded')),
    CONSTRAINT token_orders_paid_by_a_purchase CHECK (
        (status = 'pending') = (period_no IS NULL) AND (period_no IS NULL) = (transaction_id IS NULL)
        AND (period_no IS NULL) = (paid_at IS NULL) AND (period_no IS NULL) = (original_transaction_id IS NULL)),
    CONSTRAINT token_orders_number_is_a_token CHECK (order_no <> period_no),
    CONSTRAINT token_orders_made_for_a_user CHECK ((ordered_at IS NULL) = (user_id IS NULL)),
    CONSTRAINT token_orders_reason_is_known CHECK (reason = 'product_mismatch')
);
INSERT INTO appstore.token_orders
SELECT o.environment, o.order_no, CASE WHEN o.ordered_at IS NOT NULL THEN o.user_id END, o.product_id, o.bundle_id, o.ordered_at, o.status, o.reason,
       o.period_no, o.transaction_id, o.original_transaction_id, o.web_order_line_item_id, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency
FROM appstore.orders AS o WHERE o.order_no IS DISTINCT FROM o.period_no;
-- The orders that a purchase pays.
CREATE INDEX token_orders_by_period ON appstore.token_orders (period_no) WHERE period_no IS NOT NULL;
CREATE INDEX token_orders_by_contract ON appstore.token_orders (original_transaction_id) WHERE original_transaction_id IS NOT NULL;
-- The shop's orders for a user, by time. The orders of purchases without a token are found through the user's contracts.
CREATE INDEX token_orders_by_user ON appstore.token_orders (user_id, ordered_at, order_no) WHERE ordered_at IS NOT NULL;
-- Orders that a transaction named and did not pay.
CREATE INDEX token_orders_not_paid ON appstore.token_orders (environment, order_no) WHERE reason IS NOT NULL;
ALTER TABLE appstore.token_orders SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
                                       autovacuum_analyze_scale_factor = 0.02);
ANALYZE appstore.token_orders;
DROP TABLE appstore.orders;
ALTER TABLE appstore.contracts ADD COLUMN is_unowned boolean NOT NULL DEFAULT false;
CREATE INDEX contracts_unowned ON appstore.contracts (environment, original_transaction_id) WHERE is_unowned;
COMMENT ON COLUMN appstore.contracts.is_unowned IS 'Something of it is paid, and nothing says whose it is: appstore.unmatched lists it.';
COMMENT ON TABLE appstore.token_orders IS
    'Orders whose number a client gives as appAccountToken: made by the shop, or named by a purchase only. appstore.orders has all orders.';
COMMENT ON COLUMN appstore.token_orders.user_id IS 'The user for whom the shop made the order; null while only Apple knows of it.';
COMMENT ON COLUMN appstore.token_orders.ordered_at IS 'When the shop made the order; null while only Apple knows of it.';
COMMENT ON COLUMN appstore.token_orders.status IS 'pending, paid, partly_refunded (a part of the price) or refunded.';
COMMENT ON COLUMN appstore.token_orders.product_id IS 'The product that the shop ordered; null while only Apple knows of the order.';
COMMENT ON COLUMN appstore.token_orders.bundle_id IS 'The app that the shop ordered for; null for any app.';
COMMENT ON COLUMN appstore.token_orders.paid_product_id IS 'The product that was bought.';
COMMENT ON COLUMN appstore.token_orders.paid_at IS 'purchaseDate of the transaction that pays it.';
COMMENT ON COLUMN appstore.token_orders.reason IS 'Why a transaction that names this order does not pay it.';
COMMENT ON COLUMN appstore.token_orders.period_no IS 'The purchase that pays the order.';
COMMENT ON COLUMN appstore.token_orders.transaction_id IS 'The first transaction of the purchase that pays the order.';
COMMENT ON COLUMN appstore.transactions.token_changed IS
    'Between a merge and its derivation: the transaction names another order than before, or none any longer, or is no longer a family '
    'member''s, or has another date, product or app; left_token is the order that it named before.';
