-- Registers: facts from Apple and clients. Facts merge by version, independent of their order of arrival.
-- Keys begin with the selective column, and only partial indexes of few rows begin with the environment: a plan that was made for a small table
-- could otherwise read a whole environment through such an index for each lookup.

CREATE TABLE appstore.seen_notifications (
    environment       appstore.environment NOT NULL,
    notification_uuid uuid                 NOT NULL,
    seen_on           date                 NOT NULL DEFAULT (now() AT TIME ZONE 'UTC'),
    first_event_id    bigint               NOT NULL,
    PRIMARY KEY (notification_uuid, environment)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.seen_notifications IS
    'The first event of each notificationUUID. Written after verification, in the transaction that applies it: a forged copy cannot '
    'suppress the genuine notification. Not partitioned, since its key does not name the event: appstore.expire_notifications deletes old rows. '
    'A notification that arrives after that is merged again, which changes nothing.';
COMMENT ON COLUMN appstore.seen_notifications.first_event_id IS 'The event that brought it first; other events with it are its duplicates.';
COMMENT ON COLUMN appstore.seen_notifications.seen_on IS 'The day (UTC) of the merge. Four bytes, which fit between the other columns.';

CREATE TABLE appstore.transactions (
    environment                   appstore.environment NOT NULL,
    transaction_id                text        NOT NULL COLLATE "C",
    original_transaction_id       text        NOT NULL COLLATE "C",
    web_order_line_item_id        text        COLLATE "C",
    bundle_id                     text        NOT NULL COLLATE "C",
    product_id                    text        NOT NULL COLLATE "C",
    product_type                  text        COLLATE "C",
    subscription_group_identifier text        COLLATE "C",
    purchase_date                 timestamptz NOT NULL,
    original_purchase_date        timestamptz,
    expires_date                  timestamptz,
    quantity                      integer,
    app_account_token             uuid,
    in_app_ownership_type         text        COLLATE "C",
    revocation_date               timestamptz,
    revocation_reason             integer,
    revocation_type               text        COLLATE "C",
    revocation_percentage         integer,
    is_upgraded                   boolean,
    offer_type                    integer,
    offer_identifier              text        COLLATE "C",
    offer_discount_type           text        COLLATE "C",
    offer_period                  text        COLLATE "C",
    storefront                    text        COLLATE "C",
    storefront_id                 text        COLLATE "C",
    transaction_reason            text        COLLATE "C",
    currency                      text        COLLATE "C",
    price                         bigint,
    app_transaction_id            text        COLLATE "C",
    billing_plan_type             text        COLLATE "C",
    signed_date                   timestamptz,
    payload_hash                  bytea,
    -- Merged separately: the earliest value instead of the latest.
    first_signed_date             timestamptz NOT NULL,
    first_token                   uuid,
    first_token_signed_date       timestamptz,
    first_token_hash              bytea,
    -- Derived.
    period_no                     uuid        NOT NULL,
    is_subscription               boolean     NOT NULL,
    is_purchased                  boolean     NOT NULL DEFAULT true,
    order_no                      uuid,
    token_changed                 boolean     NOT NULL DEFAULT false,
    left_token                    uuid,
    confers_access                boolean     NOT NULL GENERATED ALWAYS AS (
        is_subscription OR coalesce(product_type IN ('Non-Consumable', 'Non-Renewing Subscription'), false)) STORED,
    -- The receipt half alone.
    receipt_date                  timestamptz,
    receipt_hash                  bytea,
    receipt_expires_date          timestamptz,
    receipt_revocation_date       timestamptz,
    receipt_revocation_reason     integer,
    receipt_is_upgraded           boolean,
    left_contract                 text        COLLATE "C",
    is_later_copy                 boolean     NOT NULL DEFAULT false,
    known                         jsonb,
    -- The JWS half alone.
    multi_seat_info               jsonb,
    commitment_info               jsonb,
    additional_transaction_reason text        COLLATE "C",
    previous_original_transaction_id text     COLLATE "C",
    PRIMARY KEY (transaction_id, environment),
    CONSTRAINT transactions_first_not_after_last CHECK (first_signed_date <= greatest(signed_date, receipt_date)),
    CONSTRAINT transactions_first_token_whole CHECK (
        (first_token_signed_date IS NULL) = (first_token_hash IS NULL) AND (first_token_hash IS NULL OR first_token IS NOT NULL)
        AND (first_token IS NULL OR coalesce(first_token_hash, payload_hash) IS NOT NULL)),
    CONSTRAINT transactions_has_a_half CHECK (signed_date IS NOT NULL OR receipt_date IS NOT NULL),
    CONSTRAINT transactions_only_purchased_are_bought CHECK (is_purchased = (coalesce(in_app_ownership_type, 'PURCHASED') = 'PURCHASED')),
    CONSTRAINT transactions_jws_half_whole CHECK ((signed_date IS NULL) = (payload_hash IS NULL)),
    CONSTRAINT transactions_receipt_half_whole CHECK (
        (receipt_date IS NULL) = (receipt_hash IS NULL)
        AND (receipt_date IS NOT NULL OR (receipt_expires_date IS NULL AND receipt_revocation_date IS NULL
                                          AND receipt_revocation_reason IS NULL AND receipt_is_upgraded IS NULL)))
) WITH (fillfactor = 90);
COMMENT ON TABLE appstore.transactions IS
    'The latest state of each transaction from Apple. It has two halves, each replaced as a whole by a newer fact of its kind: the JWS half '
    '(signed_date, payload_hash) and the receipt half (receipt_date, receipt_hash). Constants are those of the JWS half where there is one; '
    'expires_date, revocation_* and is_upgraded those of the half with the later date, the JWS half on a tie. What cannot change (known lists it) '
    'stays when a newer fact does not have it.';
COMMENT ON COLUMN appstore.transactions.purchase_date IS
    'When it was bought. Of a copy of what is kept the originalPurchaseDate: Apple gives the date of the restore as its purchaseDate.';
COMMENT ON COLUMN appstore.transactions.revocation_percentage IS 'Thousandths of a per cent: 100000 is the whole price.';
COMMENT ON COLUMN appstore.transactions.signed_date IS 'Version of the JWS half; payload_hash breaks ties.';
COMMENT ON COLUMN appstore.transactions.payload_hash IS
    'SHA-256 of the JWS''s payload; one less where a member of it could not be read, so that a later reading of the same payload counts.';
COMMENT ON COLUMN appstore.transactions.receipt_date IS
    'Version of the receipt half: receipt_creation_date, or the request_date of verifyReceipt. receipt_hash breaks ties.';
COMMENT ON COLUMN appstore.transactions.receipt_hash IS 'Hash of what the receipt says of the transaction; its first byte is the rank of the form.';
COMMENT ON COLUMN appstore.transactions.first_signed_date IS 'The date of the oldest fact of either half.';
COMMENT ON COLUMN appstore.transactions.first_token IS 'The appAccountToken of the oldest fact that had one.';
COMMENT ON COLUMN appstore.transactions.first_token_signed_date IS
    'With first_token_hash the version of that fact; null where it is the JWS half itself, as of most transactions.';
COMMENT ON COLUMN appstore.transactions.first_token_hash IS 'See first_token_signed_date.';
COMMENT ON COLUMN appstore.transactions.app_account_token IS
    'The order or user that Apple''s latest statement names; null also for a version 8 UUID, which is no token but may be a period''s number.';
COMMENT ON COLUMN appstore.transactions.period_no IS
    'UUIDv8 of the purchase, which all transactions of one purchase have: of a period of a subscription, of the first transaction of what is kept, of '
    'a consumable. Its order number where no token pays for it.';
COMMENT ON COLUMN appstore.transactions.order_no IS 'Derived: the order that this transaction pays; null where it was not purchased.';
COMMENT ON COLUMN appstore.transactions.is_subscription IS 'Whether it is a period of an auto-renewable subscription.';
COMMENT ON COLUMN appstore.transactions.is_purchased IS
    'Whether the customer paid for it (appstore.is_purchase); else it is shared, assigned, or had in a way that this version does not know.';
COMMENT ON COLUMN appstore.transactions.left_token IS 'See token_changed.';
COMMENT ON COLUMN appstore.transactions.token_changed IS
    'Between a merge and its derivation: the transaction names another order than before, or none any longer, or has become purchased, or has '
    'another date, product or app; left_token is the order that it named before.';
COMMENT ON COLUMN appstore.transactions.confers_access IS 'False for consumables; everything else gives access and so has a contract.';
COMMENT ON COLUMN appstore.transactions.left_contract IS
    'The contract that the transaction belonged to until a newer fact named another; null in everything that Apple is known to send. Depends on '
    'the order of arrival and is not part of the state.';
COMMENT ON COLUMN appstore.transactions.is_later_copy IS
    'Derived: the ledger has an earlier transaction of the same purchase, by the numbers of their ids, which counts in reports. Those that were '
    'not purchased are compared with one another.';
COMMENT ON COLUMN appstore.transactions.known IS
    'Where the newest JWS lacks members that cannot change and are known, a member for each, by its column: [signed_date in milliseconds, '
    'payload_hash] of the newest JWS that has it, null where only receipts have it. Null in most transactions. Such members are product_type, '
    'in_app_ownership_type, subscription_group_identifier, quantity, original_purchase_date, price, currency, storefront, storefront_id, '
    'transaction_reason, offer_type, offer_identifier, offer_discount_type, offer_period, app_transaction_id and previous_original_transaction_id.';
COMMENT ON COLUMN appstore.transactions.price IS
    'What was paid, in thousandths of the currency; of seats of a group the sum of their tiers, since Apple''s price is then the average of a seat.';
COMMENT ON COLUMN appstore.transactions.multi_seat_info IS
    'Apple''s multiSeatInfo, of seats of a group: invitationManagement, priceTiers, revokedSeatQuantity. Who was assigned a seat has the purchaser''s.';
COMMENT ON COLUMN appstore.transactions.commitment_info IS
    'Apple''s commitmentInfo, of a subscription that is charged monthly for a year: billingPeriodNumber, totalBillingPeriods, commitmentExpiresDate, '
    'commitmentPrice.';
COMMENT ON COLUMN appstore.transactions.additional_transaction_reason IS
    'Why the period has several transactions: SEAT_ADDITION. All of them have it, also the first one.';
COMMENT ON COLUMN appstore.transactions.previous_original_transaction_id IS
    'Apple''s previousOriginalTransactionId: the contract before its migration to the Advanced Commerce API.';
-- The current period of a contract, and its history. With all columns of the order: a sort would read every charge of the contract.
CREATE INDEX transactions_by_contract ON appstore.transactions
    (original_transaction_id, purchase_date DESC, expires_date DESC NULLS LAST, length(transaction_id) DESC, transaction_id DESC);
-- What pays the order with this token: the first by purchase date.
CREATE INDEX transactions_by_first_token ON appstore.transactions
    (first_token, purchase_date, length(transaction_id), transaction_id) WHERE first_token IS NOT NULL;
-- All transactions of one purchase.
CREATE INDEX transactions_by_period ON appstore.transactions (period_no);
-- Charges that the customer made beside the first one, of all charges of receipts those too that Apple made: only these can end a period early,
-- which reports look for. And copies, which reports leave out.
CREATE INDEX transactions_for_corrections ON appstore.transactions (original_transaction_id)
    WHERE (transaction_id <> original_transaction_id AND transaction_reason IS DISTINCT FROM 'RENEWAL') OR is_later_copy;
-- What ends in a period of time, for the reconciliation. An expression, so that no other statement is ever planned with it.
CREATE INDEX transactions_by_expiry ON appstore.transactions ((expires_date AT TIME ZONE 'UTC')) WHERE expires_date IS NOT NULL;
-- Transactions whose token changed after their first fact: the later token claims the contract, and pays nothing.
CREATE INDEX transactions_by_later_token ON appstore.transactions (app_account_token) WHERE app_account_token <> first_token;
CREATE INDEX transactions_of_later_token ON appstore.transactions (original_transaction_id)
    WHERE app_account_token <> first_token;
-- The purchases of an Apple Account, the latest first: whose its download of the app is.
CREATE INDEX transactions_by_app_transaction ON appstore.transactions (app_transaction_id, purchase_date DESC) WHERE app_transaction_id IS NOT NULL;

CREATE TABLE appstore.posted_types (
    environment    appstore.environment NOT NULL,
    transaction_id text NOT NULL COLLATE "C",
    product_type   text NOT NULL COLLATE "C",
    PRIMARY KEY (transaction_id, environment)
);
COMMENT ON TABLE appstore.posted_types IS
    'The product types in posted receipts whose transactions come from Apple''s answer, which has no types. Of several types of a transaction the '
    'bytewise greatest. A type counts as one of a receipt: appstore.transactions has it as soon as it has the transaction.';

CREATE TABLE appstore.v1_renewals (
    environment                appstore.environment NOT NULL,
    original_transaction_id    text        NOT NULL COLLATE "C",
    bundle_id                  text        NOT NULL COLLATE "C",
    provenance                 text        NOT NULL COLLATE "C",
    product_id                 text        COLLATE "C",
    auto_renew_product_id      text        COLLATE "C",
    auto_renew_status          integer,
    is_in_billing_retry_period boolean,
    expiration_intent          integer,
    grace_period_expires_date  timestamptz,
    price_increase_status      integer,
    promotional_offer_id       text        COLLATE "C",
    offer_code_ref_name        text        COLLATE "C",
    stated_at                  timestamptz NOT NULL,
    fact_hash                  bytea       NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, bundle_id),
    CONSTRAINT v1_renewals_provenance_is_known CHECK (provenance IN ('v1', 'verify_receipt'))
) WITH (fillfactor = 80);
COMMENT ON TABLE appstore.v1_renewals IS
    'The state of a renewal from Notifications V1 and verifyReceipt (pending_renewal_info): one register an app, replaced as a whole, never '
    'mixed with the JWS register. The register of the app that sold the contract''s transactions counts.';
COMMENT ON COLUMN appstore.v1_renewals.bundle_id IS 'The app whose shared secret authenticates the register.';
COMMENT ON COLUMN appstore.v1_renewals.provenance IS 'v1: only a shared secret authenticates it; verify_receipt: Apple''s own answer.';
COMMENT ON COLUMN appstore.v1_renewals.price_increase_status IS 'price_increase_status, else price_consent_status.';
COMMENT ON COLUMN appstore.v1_renewals.fact_hash IS 'Hash of the statement, which breaks ties of stated_at.';
COMMENT ON COLUMN appstore.v1_renewals.stated_at IS 'auto_renew_status_change_date, else receipt_creation_date; or request_date.';

CREATE TABLE appstore.refund_requests (
    environment             appstore.environment NOT NULL,
    notification_uuid       uuid        NOT NULL,
    kind                    text        NOT NULL COLLATE "C",
    transaction_id          text        NOT NULL COLLATE "C",
    original_transaction_id text        NOT NULL COLLATE "C",
    reason                  text        COLLATE "C",
    signed_date             timestamptz NOT NULL,
    left_transaction_id     text        COLLATE "C",
    is_advanced_commerce    boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (notification_uuid, environment),
    CONSTRAINT refund_requests_kind_is_known CHECK (kind IN ('asked', 'refunded', 'declined', 'reversed'))
);
COMMENT ON TABLE appstore.refund_requests IS
    'Apple''s requests and decisions about refunds: one row a notification. The lowest signing date counts, since Apple may sign a retry again.';
COMMENT ON COLUMN appstore.refund_requests.kind IS
    'asked: Apple asks how the purchase was consumed; refunded and declined: Apple has decided; reversed: it has taken the refund back.';
COMMENT ON COLUMN appstore.refund_requests.reason IS 'consumptionRequestReason of a request.';
COMMENT ON COLUMN appstore.refund_requests.left_transaction_id IS
    'The transaction of a copy that was merged before and signed later; null in everything that Apple is known to send, whose copies name one '
    'transaction. Depends on the order of arrival and is not part of the state.';
COMMENT ON COLUMN appstore.refund_requests.is_advanced_commerce IS
    'Whether the transaction was bought through the Advanced Commerce API, so that Apple takes answers of version 1 only.';
-- appstore.derive_refund_requests reads the requests and decisions about a transaction.
CREATE INDEX refund_requests_by_transaction ON appstore.refund_requests (transaction_id, signed_date);

CREATE TABLE appstore.consumption_obligations (
    environment             appstore.environment NOT NULL,
    transaction_id          text        NOT NULL COLLATE "C",
    original_transaction_id text        COLLATE "C",
    asked_at                timestamptz,
    due_at                  timestamptz,
    reason                  text        COLLATE "C",
    is_advanced_commerce    boolean     NOT NULL DEFAULT false,
    outcome                 text        COLLATE "C",
    outcome_at              timestamptz,
    PRIMARY KEY (transaction_id, environment),
    CONSTRAINT consumption_obligations_request_whole CHECK (
        (asked_at IS NULL) = (due_at IS NULL) AND (asked_at IS NULL) = (original_transaction_id IS NULL)),
    CONSTRAINT consumption_obligations_outcome_whole CHECK (
        (outcome IS NULL) = (outcome_at IS NULL) AND (outcome IS NULL OR asked_at IS NOT NULL))
);
COMMENT ON TABLE appstore.consumption_obligations IS
    'Apple''s latest request about a transaction and what Apple decided then: a row for each transaction of refund_requests, which is also the lock '
    'under which the row is derived and the request decided. A function of the notifications, in whatever order they come.';
COMMENT ON COLUMN appstore.consumption_obligations.asked_at IS
    'When Apple signed the first notification of its latest request; null where it asked nothing. Apple repeats a request and wants one answer.';
COMMENT ON COLUMN appstore.consumption_obligations.due_at IS 'Twelve hours after asked_at.';
COMMENT ON COLUMN appstore.consumption_obligations.reason IS 'consumptionRequestReason of that request.';
COMMENT ON COLUMN appstore.consumption_obligations.is_advanced_commerce IS 'See refund_requests.';
COMMENT ON COLUMN appstore.consumption_obligations.outcome IS 'Apple''s latest decision after the request: refunded or declined; null until then.';
COMMENT ON COLUMN appstore.consumption_obligations.outcome_at IS 'When Apple signed that decision.';
-- The requests that are due within hours, and those that were due in a period.
CREATE INDEX consumption_obligations_by_due ON appstore.consumption_obligations (due_at);

CREATE TABLE appstore.client_posts (
    post_id                 bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL COLLATE "C",
    user_id                 text        NOT NULL COLLATE "C",
    is_receipt              boolean     NOT NULL,
    transaction_id          text        COLLATE "C",
    received_at             timestamptz NOT NULL,
    event_id                bigint      NOT NULL,
    conflict                text        COLLATE "C",
    CONSTRAINT client_posts_key UNIQUE NULLS NOT DISTINCT (original_transaction_id, environment, user_id, is_receipt, transaction_id),
    CONSTRAINT client_posts_transaction_is_named CHECK (is_receipt OR transaction_id IS NOT NULL),
    CONSTRAINT client_posts_user_is_a_name CHECK (char_length(user_id) BETWEEN 1 AND 255),
    CONSTRAINT client_posts_conflict_is_known CHECK (conflict IN ('owner_conflict', 'too_late'))
);
COMMENT ON TABLE appstore.client_posts IS
    'Which user''s app posted a transaction of this contract, or a receipt that holds the contract: the first such post by arrival, which has the '
    'least (received_at, event_id).';
COMMENT ON COLUMN appstore.client_posts.post_id IS
    'Identifies the row to what replicates it: no column that names a post may be null in a primary key. Depends on the order of arrival and is not '
    'part of the state.';
COMMENT ON COLUMN appstore.client_posts.is_receipt IS 'Whether a receipt was posted; otherwise a signed transaction.';
COMMENT ON COLUMN appstore.client_posts.transaction_id IS
    'The posted transaction. For a receipt the purchase that was just made, null where the post names none of this contract.';
COMMENT ON COLUMN appstore.client_posts.conflict IS
    'Derived: why the post did not make its user the owner, where an operator has to decide; on the first such post of the user for the contract.';
-- The posts that appstore.unmatched lists.
CREATE INDEX client_posts_in_conflict ON appstore.client_posts (environment, original_transaction_id) WHERE conflict IS NOT NULL;
CREATE INDEX client_posts_by_user ON appstore.client_posts (user_id);

CREATE TABLE appstore.external_purchase_tokens (
    environment           appstore.environment NOT NULL,
    external_purchase_id  text        NOT NULL COLLATE "C",
    bundle_id             text        NOT NULL COLLATE "C",
    app_apple_id          bigint,
    token_type            text        COLLATE "C",
    token_creation_date   timestamptz,
    token_expiration_date timestamptz,
    report_by             timestamptz GENERATED ALWAYS AS (
        coalesce(token_expiration_date, (token_creation_date AT TIME ZONE 'UTC' + interval '240 hours') AT TIME ZONE 'UTC')) STORED,
    subtype               text        COLLATE "C",
    signed_date           timestamptz NOT NULL,
    payload_hash          bytea       NOT NULL,
    last_event_id         bigint      NOT NULL,
    known                 jsonb,
    first_signed_date     timestamptz NOT NULL,
    first_event_id        bigint      NOT NULL,
    reported_at           timestamptz,
    reported_by           text,
    PRIMARY KEY (external_purchase_id, environment),
    CONSTRAINT external_purchase_tokens_first_not_after_last CHECK (first_signed_date <= signed_date),
    CONSTRAINT external_purchase_tokens_report_whole CHECK ((reported_at IS NULL) = (reported_by IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.external_purchase_tokens IS
    'Tokens for purchases outside the App Store of which Apple has told: each must be reported to Apple. The newest notification about a token counts, '
    'by signed_date, then payload_hash; what cannot change (see known) stays when a newer one does not have it. Workers write all but the report, which '
    'appstore.mark_external_purchase_token_reported records.';
COMMENT ON COLUMN appstore.external_purchase_tokens.external_purchase_id IS 'Apple''s externalPurchaseId; it begins with SANDBOX in Sandbox.';
COMMENT ON COLUMN appstore.external_purchase_tokens.app_apple_id IS 'The app''s number in the App Store.';
COMMENT ON COLUMN appstore.external_purchase_tokens.token_type IS
    'Apple''s tokenType: SERVICES, ACQUISITION, CORE_TECHNOLOGY. Only tokens of custom links have one.';
COMMENT ON COLUMN appstore.external_purchase_tokens.token_creation_date IS 'When Apple made the token.';
COMMENT ON COLUMN appstore.external_purchase_tokens.token_expiration_date IS 'When it expires. Only tokens of custom links do.';
COMMENT ON COLUMN appstore.external_purchase_tokens.report_by IS
    'When Apple begins to complain that the token is not reported: when it expires, else ten days after its creation. Your agreement with Apple may set '
    'another deadline.';
COMMENT ON COLUMN appstore.external_purchase_tokens.subtype IS
    'What the newest notification says: CREATED; ACTIVE_TOKEN_REMINDER, each month while a token of a custom link is active; UNREPORTED.';
COMMENT ON COLUMN appstore.external_purchase_tokens.signed_date IS 'When Apple signed the newest notification; payload_hash breaks ties.';
COMMENT ON COLUMN appstore.external_purchase_tokens.payload_hash IS
    'SHA-256 of its payload; one less where a member of it could not be read, so that a later reading of the same payload counts.';
COMMENT ON COLUMN appstore.external_purchase_tokens.last_event_id IS 'The first event that brought the newest notification.';
COMMENT ON COLUMN appstore.external_purchase_tokens.known IS
    'Where the newest notification lacks members that cannot change and are known, a member for each, by its column: [signed_date in milliseconds, '
    'payload_hash] of the newest that has it. Else null. Such members are bundle_id, app_apple_id, token_type, token_creation_date and '
    'token_expiration_date.';
COMMENT ON COLUMN appstore.external_purchase_tokens.first_signed_date IS 'When Apple signed the oldest notification.';
COMMENT ON COLUMN appstore.external_purchase_tokens.first_event_id IS 'The first event that brought the oldest notification.';
COMMENT ON COLUMN appstore.external_purchase_tokens.reported_at IS
    'When you reported it; null until then. An UNREPORTED that Apple signed later makes it due again.';
COMMENT ON COLUMN appstore.external_purchase_tokens.reported_by IS 'The login that said so, or the person who used the console.';
-- The tokens that are due, the soonest first. The condition is that of appstore.external_purchase_tokens_due.
CREATE INDEX external_purchase_tokens_unreported ON appstore.external_purchase_tokens (environment, report_by)
    WHERE reported_at IS NULL OR (subtype = 'UNREPORTED' AND signed_date > reported_at);

CREATE TABLE appstore.app_transactions (
    environment                  appstore.environment NOT NULL,
    app_transaction_id           text        NOT NULL COLLATE "C",
    bundle_id                    text        NOT NULL COLLATE "C",
    original_application_version text        COLLATE "C",
    application_version          text        COLLATE "C",
    original_purchase_date       timestamptz,
    original_platform            text        COLLATE "C",
    preorder_date                timestamptz,
    store_type                   text        COLLATE "C",
    revocation_date              timestamptz,
    signed_date                  timestamptz NOT NULL,
    payload_hash                 bytea       NOT NULL,
    event_id                     bigint      NOT NULL,
    known                        jsonb,
    user_id                      text        COLLATE "C",
    posted_at                    timestamptz,
    post_event_id                bigint,
    PRIMARY KEY (app_transaction_id, environment),
    CONSTRAINT app_transactions_post_whole CHECK ((user_id IS NULL) = (posted_at IS NULL) AND (user_id IS NULL) = (post_event_id IS NULL)),
    CONSTRAINT app_transactions_user_is_a_name CHECK (char_length(user_id) BETWEEN 1 AND 255)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.app_transactions IS
    'Each Apple Account''s download or purchase of an app, as Apple stated it last, by signed_date, then payload_hash. What the newest statement lacks '
    'stays as an earlier one has it (see known), but for revocation_date. Statements come from posts of your app, from Apple''s answers, and from '
    'notifications about a rescinded consent. A member of a family has one of its own.';
COMMENT ON COLUMN appstore.app_transactions.app_transaction_id IS
    'Apple''s appTransactionId: one for each Apple Account and app, which stays when the customer downloads the app again, is refunded or buys again.';
COMMENT ON COLUMN appstore.app_transactions.original_application_version IS
    'The version that the customer downloaded first: CFBundleShortVersionString on macOS, elsewhere CFBundleVersion, the build. In Sandbox always 1.0.';
COMMENT ON COLUMN appstore.app_transactions.application_version IS
    'The version on the device that posted it, of the newest statement that has one; Apple''s answers have none.';
COMMENT ON COLUMN appstore.app_transactions.original_purchase_date IS
    'When the customer downloaded the app first. In Sandbox always midnight of 2013-08-01, Pacific time.';
COMMENT ON COLUMN appstore.app_transactions.original_platform IS 'Where that was: iOS, macOS, tvOS, visionOS.';
COMMENT ON COLUMN appstore.app_transactions.preorder_date IS 'When the customer ordered the app before it was sold; null where it was no preorder.';
COMMENT ON COLUMN appstore.app_transactions.store_type IS 'Apple''s storeType: CONSUMER.';
COMMENT ON COLUMN appstore.app_transactions.revocation_date IS
    'When Apple took the purchase of the app back, by the newest statement; null where it did not.';
COMMENT ON COLUMN appstore.app_transactions.signed_date IS 'When Apple signed the newest statement; payload_hash breaks ties.';
COMMENT ON COLUMN appstore.app_transactions.payload_hash IS
    'SHA-256 of its payload; one less where a member of it could not be read, so that a later reading of the same payload counts.';
COMMENT ON COLUMN appstore.app_transactions.event_id IS 'The first event that brought the newest statement.';
COMMENT ON COLUMN appstore.app_transactions.known IS
    'Where the newest statement lacks members that are known, a member for each, by its column: [signed_date in milliseconds, payload_hash] of the '
    'newest that has it. Else null.';
COMMENT ON COLUMN appstore.app_transactions.user_id IS
    'The user whose app posted it first, by arrival: one Apple Account''s download counts for one user. appstore.forget takes the name away; the next '
    'user who posts it follows. Null where no user has posted it: see appstore.app_transaction_user.';
COMMENT ON COLUMN appstore.app_transactions.posted_at IS 'When that post came in; then post_event_id decides.';
COMMENT ON COLUMN appstore.app_transactions.post_event_id IS 'The event of that post.';
-- What a user posted.
CREATE INDEX app_transactions_by_user ON appstore.app_transactions (user_id) WHERE user_id IS NOT NULL;
