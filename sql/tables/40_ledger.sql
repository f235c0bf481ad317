-- The ledger: orders, contracts, their owners, and effects. Derived from the registers and from the commands of the shop and operators.

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
-- The orders that a purchase pays.
CREATE INDEX token_orders_by_period ON appstore.token_orders (period_no) WHERE period_no IS NOT NULL;
CREATE INDEX token_orders_by_contract ON appstore.token_orders (original_transaction_id) WHERE original_transaction_id IS NOT NULL;
-- The shop's orders for a user, by time. The orders of purchases without a token are found through the user's contracts.
CREATE INDEX token_orders_by_user ON appstore.token_orders (user_id, ordered_at, order_no) WHERE ordered_at IS NOT NULL;
-- Orders that a transaction named and did not pay.
CREATE INDEX token_orders_not_paid ON appstore.token_orders (environment, order_no) WHERE reason IS NOT NULL;

CREATE TABLE appstore.ownership_claims (
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL COLLATE "C",
    kind                    appstore.claim_kind NOT NULL,
    source_id               text        NOT NULL COLLATE "C",
    user_id                 text        NOT NULL COLLATE "C",
    effective_at            timestamptz NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, kind, source_id)
);
COMMENT ON TABLE appstore.ownership_claims IS
    'Derived: the owners of a contract over time, and why. The owner is that of the claim with the greatest (effective_at, kind, source_id).';
COMMENT ON COLUMN appstore.ownership_claims.kind IS 'The origin of the claim.';
COMMENT ON COLUMN appstore.ownership_claims.effective_at IS 'From when it counts.';
COMMENT ON COLUMN appstore.ownership_claims.source_id IS
    'The order of an order claim; the instant of a link, in microseconds since 1970 with 20 digits; the contract of a restored one; else the '
    'transaction. Where posts claim the same again after a user was forgotten, /2 and so on follows. Of a claim to a contract before a migration, '
    '+, that contract and > come first.';
CREATE INDEX ownership_claims_by_user ON appstore.ownership_claims (user_id);

CREATE TABLE appstore.owner_links (
    link_id                 bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL COLLATE "C",
    linked_at               timestamptz NOT NULL,
    user_id                 text        COLLATE "C",
    actor                   text        NOT NULL,
    note                    text,
    import_id               integer,
    CONSTRAINT owner_links_user_is_a_name CHECK (char_length(user_id) BETWEEN 1 AND 255)
);
COMMENT ON TABLE appstore.owner_links IS
    'Commands of an operator or the shop: from linked_at on the contract belongs to this user. A row without a user takes back all links of the '
    'contract before it. Append-only.';
COMMENT ON COLUMN appstore.owner_links.link_id IS 'Of several links of one instant the one with the greatest id counts.';
COMMENT ON COLUMN appstore.owner_links.linked_at IS 'When the command was given.';
COMMENT ON COLUMN appstore.owner_links.user_id IS 'The new owner; null where the links before are taken back.';
COMMENT ON COLUMN appstore.owner_links.actor IS 'The login that called appstore.link_owner or appstore.unlink_owner.';
COMMENT ON COLUMN appstore.owner_links.note IS
    'Free text of the actor; null after appstore.forget, both of a link to the user and where it was taken back.';
COMMENT ON COLUMN appstore.owner_links.import_id IS
    'The import whose file named the user; null for a command. Such a link never counts where an order was paid before it.';
CREATE INDEX owner_links_by_contract ON appstore.owner_links (original_transaction_id);
CREATE INDEX owner_links_by_user ON appstore.owner_links (user_id);

CREATE TABLE appstore.user_tokens (
    token   uuid        NOT NULL PRIMARY KEY,
    user_id text        NOT NULL COLLATE "C",
    set_at  timestamptz NOT NULL,
    actor   text        NOT NULL,
    CONSTRAINT user_tokens_user_is_a_name CHECK (char_length(user_id) BETWEEN 1 AND 255)
);
COMMENT ON TABLE appstore.user_tokens IS
    'Commands of the shop or an operator: this appAccountToken means this user, in both environments, before and after. No order has such a '
    'number. A row changes only where its user is forgotten, and where the token is set again afterwards.';
COMMENT ON COLUMN appstore.user_tokens.token IS 'The appAccountToken that the app gives for each purchase of the user.';
COMMENT ON COLUMN appstore.user_tokens.set_at IS 'When the command was given.';
COMMENT ON COLUMN appstore.user_tokens.actor IS 'Who called appstore.set_user_token, or began the import that has it.';
-- appstore.forget
CREATE INDEX user_tokens_by_user ON appstore.user_tokens (user_id);

CREATE TABLE appstore.forgotten_users (
    alias        text        NOT NULL COLLATE "C" PRIMARY KEY,
    forgotten_at timestamptz NOT NULL
);
COMMENT ON TABLE appstore.forgotten_users IS
    'The aliases that appstore.forget has written for users: a post that came later may claim what was theirs.';
COMMENT ON COLUMN appstore.forgotten_users.alias IS 'forgotten: and a random UUID, which stands in the place of the user.';
COMMENT ON COLUMN appstore.forgotten_users.forgotten_at IS 'When the user was forgotten.';

CREATE TABLE appstore.contracts (
    environment                    appstore.environment NOT NULL,
    original_transaction_id        text        NOT NULL COLLATE "C",
    -- The register of the renewal: replaced as a whole by a fact of higher version (renewal_signed_date, renewal_hash).
    renewal_status                 integer,
    renewal_product_id             text        COLLATE "C",
    auto_renew_product_id          text        COLLATE "C",
    auto_renew_status              integer,
    expiration_intent              integer,
    is_in_billing_retry_period     boolean,
    price_increase_status          integer,
    grace_period_expires_date      timestamptz,
    renewal_date                   timestamptz,
    renewal_price                  bigint,
    renewal_currency               text        COLLATE "C",
    renewal_offer_type             integer,
    renewal_offer_identifier       text        COLLATE "C",
    renewal_offer_discount_type    text        COLLATE "C",
    renewal_offer_period           text        COLLATE "C",
    eligible_win_back_offer_ids    jsonb,
    recent_subscription_start_date timestamptz,
    renewal_app_account_token      uuid,
    renewal_app_transaction_id     text        COLLATE "C",
    renewal_billing_plan_type      text        COLLATE "C",
    renewal_signed_date            timestamptz,
    renewal_hash                   bytea,
    -- Derived.
    user_id                        text        COLLATE "C",
    owner_since                    timestamptz,
    is_contested                   boolean     NOT NULL DEFAULT false,
    bundle_id                      text        COLLATE "C",
    product_id                     text        COLLATE "C",
    product_type                   text        COLLATE "C",
    status                         integer,
    will_renew                     boolean,
    started_at                     timestamptz,
    current_transaction_id         text        COLLATE "C",
    current_period_start           timestamptz,
    current_period_end             timestamptz,
    revoked_at                     timestamptz,
    access_until                   timestamptz,
    is_unowned                     boolean     NOT NULL DEFAULT false,
    -- Of the register.
    renewal_quantity               integer,
    renewal_commitment_info        jsonb,
    -- Derived.
    seats_bought                   integer,
    seats_added                    integer,
    seats_revoked                  integer,
    commitment_until               timestamptz,
    commitment_payments_left       integer,
    commitment_will_renew          boolean,
    migrated_from                  text[]      COLLATE "C",
    migrated_to                    text[]      COLLATE "C",
    PRIMARY KEY (original_transaction_id, environment),
    CONSTRAINT contracts_register_whole CHECK ((renewal_signed_date IS NULL) = (renewal_hash IS NULL)),
    CONSTRAINT contracts_current_whole CHECK ((current_transaction_id IS NULL) = (current_period_start IS NULL))
) WITH (fillfactor = 80); -- rows that change with each event stay on their page
COMMENT ON TABLE appstore.contracts IS
    'Everything that gives access, a subscription of one Apple ID in one group or a single purchase: the latest state of its renewal from Apple, '
    'and, derived, its owner, current period and access. A writer first locks the contracts that it changes, in the order (environment, id).';
COMMENT ON COLUMN appstore.contracts.renewal_status IS
    'Apple''s: 1 active, 2 expired, 3 billing retry, 4 grace period, 5 revoked; unknown ones are kept.';
COMMENT ON COLUMN appstore.contracts.auto_renew_status IS '1 renews, 0 does not.';
COMMENT ON COLUMN appstore.contracts.renewal_signed_date IS 'Version of the register, with renewal_hash; null while nothing is known.';
COMMENT ON COLUMN appstore.contracts.renewal_hash IS 'Hash of the statement, which breaks ties of renewal_signed_date.';
COMMENT ON COLUMN appstore.contracts.status IS 'Status of the register that counts: this one, or that of Notifications V1.';
COMMENT ON COLUMN appstore.contracts.will_renew IS
    'Whether the next period will be charged; null while it is unknown. In a commitment it is, also when the customer wants no other one.';
COMMENT ON COLUMN appstore.contracts.renewal_price IS
    'What the renewal will cost, in thousandths of the currency; of seats of a group the sum of their tiers.';
COMMENT ON COLUMN appstore.contracts.renewal_quantity IS 'How many seats of a group will be renewed.';
COMMENT ON COLUMN appstore.contracts.renewal_commitment_info IS
    'Apple''s commitmentInfo of the renewal info, about the commitment after this one: commitmentAutoRenewProductId, commitmentAutoRenewStatus, '
    'commitmentRenewalBillingPlanType, commitmentRenewalDate, commitmentRenewalPrice.';
COMMENT ON COLUMN appstore.contracts.seats_bought IS
    'Seats that were bought for the current period, with those that were added and those that were refunded since; null where it is no group''s, and '
    'of a member.';
COMMENT ON COLUMN appstore.contracts.seats_added IS 'Those of seats_bought that were added in the period.';
COMMENT ON COLUMN appstore.contracts.seats_revoked IS 'Those of seats_bought that Apple refunded.';
COMMENT ON COLUMN appstore.contracts.commitment_until IS
    'Until when the customer has committed to pay by the month; null without a commitment.';
COMMENT ON COLUMN appstore.contracts.commitment_payments_left IS 'How many months of the commitment are not charged yet.';
COMMENT ON COLUMN appstore.contracts.commitment_will_renew IS 'Whether another commitment will follow; null while it is unknown.';
COMMENT ON COLUMN appstore.contracts.migrated_from IS
    'The contracts, mostly one, of which Apple says that they became this one when the app moved them to the Advanced Commerce API; sorted. Their '
    'claims count for this one, too.';
COMMENT ON COLUMN appstore.contracts.migrated_to IS 'The contracts that this one has become; sorted. It has a row for them while nothing else is known.';
COMMENT ON COLUMN appstore.contracts.started_at IS 'purchaseDate of its first transaction.';
COMMENT ON COLUMN appstore.contracts.current_transaction_id IS
    'The first transaction of the current purchase: the latest one, or the one before it where that still runs and the latest was upgraded, refunded '
    'or is not the product that the renewal info names.';
COMMENT ON COLUMN appstore.contracts.current_period_start IS 'purchaseDate of the current transaction.';
COMMENT ON COLUMN appstore.contracts.current_period_end IS 'expiresDate of the current purchase.';
COMMENT ON COLUMN appstore.contracts.revoked_at IS 'revocationDate of the current purchase.';
COMMENT ON COLUMN appstore.contracts.access_until IS
    'Until when it gives access; infinity where access does not end; null while only appstore.products or a charge that is missing could say it.';
COMMENT ON COLUMN appstore.contracts.owner_since IS 'effective_at of the claim that makes user_id the owner; null without a claim.';
COMMENT ON COLUMN appstore.contracts.is_unowned IS 'Something of it is paid, and nothing says whose it is: appstore.unmatched lists it.';
COMMENT ON COLUMN appstore.contracts.is_contested IS
    'The contract has a client post, a V1 register or a later token, or two purchases that run at once, or copies of the current one: a new renewal '
    'may change more than the newest purchase.';
CREATE INDEX contracts_by_user ON appstore.contracts (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX contracts_unowned ON appstore.contracts (environment, original_transaction_id) WHERE is_unowned;

CREATE TABLE appstore.effect_log (
    effect_id               uuid        NOT NULL PRIMARY KEY,
    environment             appstore.environment NOT NULL,
    kind                    text        NOT NULL COLLATE "C",
    subject                 text        NOT NULL COLLATE "C",
    event_id                bigint      NOT NULL,
    occurred_at             timestamptz NOT NULL,
    recorded_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    original_transaction_id text        COLLATE "C",
    transaction_id          text        COLLATE "C",
    product_id              text        COLLATE "C",
    order_no                uuid,
    user_id                 text        COLLATE "C",
    vouched_bundle_id       text        COLLATE "C",
    grace_period_expires_date timestamptz,
    restated_date           timestamptz,
    bundle_id               text        COLLATE "C",
    details                 jsonb
);
COMMENT ON TABLE appstore.effect_log IS
    'Each thing that happened to a customer, once. Append-only: environment, kind and subject are the identity, other columns are as of the commit. '
    'Read appstore.effects, which has the order number of today.';
COMMENT ON COLUMN appstore.effect_log.effect_id IS
    'UUIDv5 of environment, kind and subject, of a refund appstore.refund_id: the same in every installation and after any replay.';
COMMENT ON COLUMN appstore.effect_log.kind IS 'What happened: granted, refunded, revoked …';
COMMENT ON COLUMN appstore.effect_log.occurred_at IS 'When Apple says that it happened.';
COMMENT ON COLUMN appstore.effect_log.recorded_at IS 'When it was stored, shortly before the commit.';
COMMENT ON COLUMN appstore.effect_log.order_no IS
    'The order of the transaction as seen at the commit. A purchase that arrives later can give the transaction another order.';
COMMENT ON COLUMN appstore.effect_log.user_id IS 'The owner at the commit; a later owner does not change it.';
COMMENT ON COLUMN appstore.effect_log.subject IS
    'The identity of what happened: a purchase, a refund of it by its number (0 is the first, 1 the one after the first reversal), a transaction, a '
    'transaction and how many of its seats are revoked, a notificationUUID.';
COMMENT ON COLUMN appstore.effect_log.restated_date IS
    'Of a refund the latest other revocationDate that Apple has given for it; null in almost all.';
COMMENT ON COLUMN appstore.effect_log.vouched_bundle_id IS
    'The app whose shared secret alone authenticates the effect (Notifications V1); null where Apple''s signature or answer does.';
COMMENT ON COLUMN appstore.effect_log.grace_period_expires_date IS
    'Of the start of a grace period, or of a found status that tells of one: its end, which the register of the renewal keeps for the latest only.';
COMMENT ON COLUMN appstore.effect_log.bundle_id IS 'The app, where no transaction of the effect names it; else null.';
COMMENT ON COLUMN appstore.effect_log.details IS
    'What only this notification says: identifiers, dates and counts, by kind; never a user. Null where it says nothing else.';
CREATE INDEX effect_log_with_grace ON appstore.effect_log (original_transaction_id) WHERE grace_period_expires_date IS NOT NULL;
CREATE INDEX effect_log_by_contract ON appstore.effect_log (original_transaction_id, occurred_at);
CREATE INDEX effect_log_refunds ON appstore.effect_log (transaction_id) WHERE kind = 'refunded';
