-- breaking: a worker of the release before would not keep what Apple says of tokens and app transactions, nor know posts of the latter
-- The step before it has made the indexes of large tables.
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
