-- What the complete ledger needs beside charges, renewals and orders: who says that a contract is his, what was asked and decided of
-- refunds, and what a product gives. derive_books reads it (the next migration).

-- Keys begin with what is selective. With the environment in front, a plan that was made while the tables were empty could read a whole
-- environment for each row it looks up: such an index scan then looked as cheap as the exact one.
ALTER TABLE appstore.notifications_seen DROP CONSTRAINT notifications_seen_pkey, ADD PRIMARY KEY (notification_uuid, environment);
ALTER TABLE appstore.transactions DROP CONSTRAINT transactions_pkey, ADD PRIMARY KEY (transaction_id, environment);
ALTER TABLE appstore.subscriptions DROP CONSTRAINT subscriptions_pkey, ADD PRIMARY KEY (original_transaction_id, environment);
ALTER TABLE appstore.orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (no, environment);
ALTER TABLE appstore.claims DROP CONSTRAINT claims_pkey, ADD PRIMARY KEY (original_transaction_id, environment, evidence);
ALTER TABLE appstore.member_contracts DROP CONSTRAINT member_contracts_pkey, ADD PRIMARY KEY (contract_id, environment);
ALTER TABLE appstore.effects DROP CONSTRAINT effects_pkey, ADD PRIMARY KEY (effect_key, kind, environment);
DROP INDEX appstore.transactions_by_period, appstore.orders_by_period, appstore.orders_by_contract, appstore.orders_by_user,
    appstore.claims_by_contract, appstore.member_contracts_by_user, appstore.effects_by_contract, appstore.outcomes_by_contract;
CREATE INDEX transactions_by_period ON appstore.transactions (period_no, environment);
CREATE INDEX orders_by_period ON appstore.orders (period_no, environment) WHERE period_no IS NOT NULL;
CREATE INDEX orders_by_contract ON appstore.orders (origin_no, environment) WHERE origin_no IS NOT NULL;
CREATE INDEX orders_by_user ON appstore.orders (user_id, environment) WHERE user_id IS NOT NULL;
CREATE INDEX member_contracts_by_user ON appstore.member_contracts (user_id, environment) WHERE user_id IS NOT NULL;
CREATE INDEX effects_by_contract ON appstore.effects (original_transaction_id, environment, occurred_at);
CREATE INDEX outcomes_by_contract ON appstore.outcomes (original_transaction_id, environment) WHERE original_transaction_id IS NOT NULL;

-- A consumable is used up; everything else gives something for a time, or for ever, and so has a contract.
ALTER TABLE appstore.transactions
    ADD COLUMN confers_access boolean NOT NULL GENERATED ALWAYS AS (
        is_subscription OR coalesce(product_type IN ('Non-Consumable', 'Non-Renewing Subscription'), false)) STORED;
-- Charges whose token changed after their first sight: the later token claims the contract, and pays nothing.
CREATE INDEX transactions_by_later_token ON appstore.transactions (app_account_token, environment)
    WHERE app_account_token <> first_token;

-- Who posted which charge as his own. A join: the first such post by arrival, which is part of the event.
CREATE TABLE appstore.submissions (
    environment             appstore.environment NOT NULL,
    transaction_id          text        NOT NULL,
    user_id                 text        NOT NULL,
    original_transaction_id text        NOT NULL,
    received_at             timestamptz NOT NULL,
    event_id                bigint      NOT NULL,   -- decides between posts of the same instant
    PRIMARY KEY (transaction_id, environment, user_id),
    CONSTRAINT submissions_user_is_a_name CHECK (octet_length(user_id) BETWEEN 1 AND 255)
);
CREATE INDEX submissions_by_contract ON appstore.submissions (original_transaction_id, environment);

-- Commands of an operator or of the shop: from now on this contract is that user's. Append-only.
CREATE TABLE appstore.owner_links (
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL,
    linked_at               timestamptz NOT NULL,
    user_id                 text        NOT NULL,
    actor                   text        NOT NULL,
    note                    text,
    PRIMARY KEY (original_transaction_id, environment, linked_at),
    CONSTRAINT owner_links_user_is_a_name CHECK (octet_length(user_id) BETWEEN 1 AND 255)
);

-- What Apple asked and decided about giving money back, one row for each notification. A join: the lowest signing date, since a retry may
-- be signed anew.
CREATE TABLE appstore.refund_statements (
    environment             appstore.environment NOT NULL,
    notification_uuid       text        NOT NULL,
    kind                    text        NOT NULL,
    transaction_id          text        NOT NULL,
    original_transaction_id text        NOT NULL,
    reason                  text,                   -- consumptionRequestReason of an ask
    signed_date             timestamptz NOT NULL,
    PRIMARY KEY (notification_uuid, environment),
    CONSTRAINT refund_statements_kind_is_known CHECK (kind IN ('asked', 'refunded', 'declined'))
);
CREATE INDEX refund_statements_by_transaction ON appstore.refund_statements (transaction_id, environment, signed_date);

-- When somebody told Apple how a purchase was consumed.
CREATE TABLE appstore.consumption_answers (
    environment    appstore.environment NOT NULL,
    transaction_id text        NOT NULL,
    answered_at    timestamptz NOT NULL,
    actor          text        NOT NULL,
    PRIMARY KEY (transaction_id, environment, answered_at)
);

-- What a product gives: rows that the operator writes. A product that is not listed gives an entitlement of its own name.
CREATE TABLE appstore.products (
    product_id  text    NOT NULL,
    entitlement text    NOT NULL,
    days        integer,            -- of a non-renewing product: how long it lasts from its purchase; null for ever
    PRIMARY KEY (product_id, entitlement),
    CONSTRAINT products_days_positive CHECK (days > 0)
);

-- A contract is now anything that gives access; what is bought once has no renewal register.
ALTER TABLE appstore.member_contracts
    ADD COLUMN product_type text,
    ADD COLUMN revoked_at   timestamptz;   -- of the current charge

GRANT USAGE ON SCHEMA appstore TO appstore_api;
GRANT SELECT, INSERT, UPDATE ON appstore.submissions, appstore.refund_statements TO appstore_worker;
-- The repairs are for `appstore-inbox explain`.
GRANT SELECT ON appstore.owner_links, appstore.consumption_answers, appstore.products, appstore.audit_log TO appstore_worker;
GRANT SELECT ON appstore.submissions, appstore.owner_links, appstore.refund_statements, appstore.consumption_answers, appstore.products
    TO appstore_operator, appstore_viewer;
GRANT INSERT, UPDATE, DELETE ON appstore.products TO appstore_operator;
