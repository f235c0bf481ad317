-- The ledger: registers that join by version, and the books derived from them.

-- Which event brought a notificationUUID first. Written in the applying transaction only: a forged copy cannot suppress the real one.
CREATE TABLE appstore.notifications_seen (
    environment       appstore.environment NOT NULL,
    notification_uuid text                 NOT NULL,
    first_event_id    bigint               NOT NULL,
    PRIMARY KEY (environment, notification_uuid)
);

-- What Apple last said of a charge. Replaced as a whole by a fact of higher version (signed_date, payload_hash).
CREATE TABLE appstore.transactions (
    environment                   appstore.environment NOT NULL,
    transaction_id                text        NOT NULL,
    original_transaction_id       text        NOT NULL,
    web_order_line_item_id        text,
    bundle_id                     text        NOT NULL,
    product_id                    text        NOT NULL,
    product_type                  text,
    subscription_group_identifier text,
    purchase_date                 timestamptz NOT NULL,
    original_purchase_date        timestamptz,
    expires_date                  timestamptz,
    quantity                      integer,
    app_account_token             uuid,
    in_app_ownership_type         text,
    revocation_date               timestamptz,
    revocation_reason             integer,
    revocation_type               text,
    revocation_percentage         integer,     -- thousandths of a per cent: 100000 is all of it
    is_upgraded                   boolean,
    offer_type                    integer,
    offer_identifier              text,
    offer_discount_type           text,
    offer_period                  text,
    storefront                    text,
    storefront_id                 text,
    transaction_reason            text,
    currency                      text,
    price                         bigint,      -- thousandths of the currency's unit
    app_transaction_id            text,
    billing_plan_type             text,
    signed_date                   timestamptz NOT NULL,
    payload_hash                  bytea       NOT NULL,
    -- Joins of their own: least instead of latest.
    first_signed_date             timestamptz NOT NULL,
    first_token                   uuid,        -- the appAccountToken of the oldest fact that had one
    first_token_signed_date       timestamptz,
    first_token_hash              bytea,
    -- UUIDv5 of the paid period (or of the charge, for products without periods): its order number when no token pays for it.
    period_no                     uuid        NOT NULL,
    is_subscription               boolean     NOT NULL,
    is_purchased                  boolean     NOT NULL GENERATED ALWAYS AS (in_app_ownership_type IS DISTINCT FROM 'FAMILY_SHARED') STORED,
    -- Derived: the order that this charge paid; null for family members.
    order_no                      uuid,
    -- Derived: the first token when the books were last derived; when an older fact brings another, this order must be looked at again.
    named_no                      uuid,
    PRIMARY KEY (environment, transaction_id),
    CONSTRAINT transactions_first_not_after_last CHECK (first_signed_date <= signed_date),
    CONSTRAINT transactions_first_token_whole CHECK ((first_token IS NULL) = (first_token_signed_date IS NULL)
                                                     AND (first_token IS NULL) = (first_token_hash IS NULL))
);
-- The current period of a contract, and its history.
CREATE INDEX transactions_by_contract ON appstore.transactions (environment, original_transaction_id, purchase_date DESC);
-- Who paid the order with this token: the first by purchase date.
CREATE INDEX transactions_by_first_token ON appstore.transactions (environment, first_token, purchase_date) WHERE first_token IS NOT NULL;
-- All charges of one period.
CREATE INDEX transactions_by_period ON appstore.transactions (environment, period_no);

-- Renewal info and status: one register, replaced as a whole by version (signed_date, fact_hash).
CREATE TABLE appstore.subscriptions (
    environment                    appstore.environment NOT NULL,
    original_transaction_id        text        NOT NULL,
    status                         integer,     -- 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked; others kept
    product_id                     text,
    auto_renew_product_id          text,
    auto_renew_status              integer,     -- 1 will renew
    expiration_intent              integer,
    is_in_billing_retry_period     boolean,
    price_increase_status          integer,
    grace_period_expires_date      timestamptz,
    renewal_date                   timestamptz,
    renewal_price                  bigint,
    currency                       text,
    offer_type                     integer,
    offer_identifier               text,
    offer_discount_type            text,
    offer_period                   text,
    eligible_win_back_offer_ids    jsonb,
    recent_subscription_start_date timestamptz,
    app_account_token              uuid,
    app_transaction_id             text,
    renewal_billing_plan_type      text,
    signed_date                    timestamptz NOT NULL,
    fact_hash                      bytea       NOT NULL,
    PRIMARY KEY (environment, original_transaction_id)
);

-- Orders: by token (given to the client before the purchase) or by period (no = period_no) where no token pays.
CREATE TABLE appstore.orders (
    environment            appstore.environment NOT NULL,
    no                     uuid        NOT NULL,
    -- What the shop said when it made the order; ordered_at is null while only Apple knows of it.
    user_id                text,
    product_id             text,
    bundle_id              text,
    ordered_at             timestamptz,
    -- Derived from the period that pays it.
    status                 text        NOT NULL DEFAULT 'pending',
    reason                 text,        -- why a charge that names this order does not pay it
    period_no              uuid,
    trade_no               text,        -- transactionId
    origin_no              text,        -- originalTransactionId
    web_order_line_item_id text,
    paid_product_id        text,
    paid_at                timestamptz,
    quantity               integer,
    price                  bigint,
    currency               text,
    created_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (environment, no),
    CONSTRAINT orders_status_is_known CHECK (status IN ('pending', 'paid', 'partly_refunded', 'refunded')),
    CONSTRAINT orders_paid_by_a_period CHECK ((status = 'pending') = (period_no IS NULL) AND (period_no IS NULL) = (trade_no IS NULL)),
    CONSTRAINT orders_known_to_somebody CHECK (ordered_at IS NULL OR user_id IS NOT NULL),
    CONSTRAINT orders_reason_is_known CHECK (reason = 'product_mismatch')
);
CREATE INDEX orders_by_period ON appstore.orders (environment, period_no) WHERE period_no IS NOT NULL;
CREATE INDEX orders_by_contract ON appstore.orders (environment, origin_no) WHERE origin_no IS NOT NULL;
CREATE INDEX orders_by_user ON appstore.orders (environment, user_id) WHERE user_id IS NOT NULL;

-- Who owned a contract from when, and what says so. evidence: 'order:<no>'.
CREATE TABLE appstore.claims (
    environment             appstore.environment NOT NULL,
    evidence                text        NOT NULL,
    original_transaction_id text        NOT NULL,
    user_id                 text        NOT NULL,
    effective_at            timestamptz NOT NULL,
    PRIMARY KEY (environment, evidence)
);
CREATE INDEX claims_by_contract ON appstore.claims (environment, original_transaction_id, effective_at DESC);

-- Member contracts: a subscription of one Apple ID in one group. All derived.
CREATE TABLE appstore.member_contracts (
    environment            appstore.environment NOT NULL,
    contract_id            text        NOT NULL,   -- originalTransactionId
    user_id                text,
    bundle_id              text,
    product_id             text,
    status                 integer,                -- Apple's, of the subscription's register
    will_renew             boolean,
    started_at             timestamptz,
    current_transaction_id text,
    current_period_start   timestamptz,
    current_period_end     timestamptz,
    access_until           timestamptz,
    created_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (environment, contract_id)
);
CREATE INDEX member_contracts_by_user ON appstore.member_contracts (environment, user_id) WHERE user_id IS NOT NULL;

-- What happened to the customer. Append-only; the key is the identity, every other column is as seen at commit.
CREATE TABLE appstore.effects (
    environment             appstore.environment NOT NULL,
    kind                    text        NOT NULL,
    effect_key              text        NOT NULL,
    effect_id               bigint      GENERATED ALWAYS AS IDENTITY,
    event_id                bigint      NOT NULL,
    occurred_at             timestamptz NOT NULL,
    recorded_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    original_transaction_id text,
    transaction_id          text,
    product_id              text,
    order_no                uuid,
    user_id                 text,
    PRIMARY KEY (environment, kind, effect_key)
);
CREATE INDEX effects_by_contract ON appstore.effects (environment, original_transaction_id, occurred_at);

GRANT SELECT, INSERT, UPDATE ON appstore.notifications_seen, appstore.transactions, appstore.subscriptions, appstore.member_contracts
    TO appstore_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON appstore.orders, appstore.claims TO appstore_worker;
GRANT SELECT, INSERT ON appstore.effects TO appstore_worker;
GRANT SELECT ON appstore.notifications_seen, appstore.transactions, appstore.subscriptions, appstore.orders, appstore.claims,
    appstore.member_contracts, appstore.effects TO appstore_operator, appstore_viewer;
