-- Where facts of the legacy App Store go: the receipt half of a transaction, the legacy register of a renewal, who posted which receipt, and
-- which contracts an event is about beyond the one in its outcome. derive_books reads them from m0025 on.

-- A transaction has two halves. What was always called so is what counts: its constants are those of the JWS half where there is one, else the
-- receipt half's; expires_date, revocation_* and is_upgraded are those of the half with the later date, the JWS half's on a tie. signed_date
-- and payload_hash are the JWS half's version, receipt_date and receipt_hash the receipt half's. A half that is beaten can win again only by
-- a newer fact of its own, which brings its own values: hence the JWS half's are not kept a second time. The receipt half's are, to be looked
-- at: they are few.
ALTER TABLE appstore.transactions
    ALTER COLUMN signed_date DROP NOT NULL,
    ALTER COLUMN payload_hash DROP NOT NULL,
    ADD COLUMN receipt_date              timestamptz,   -- receipt_creation_date, or verifyReceipt's request_date
    ADD COLUMN receipt_hash              bytea,         -- decides between statements of one instant; its first byte is the form's rank
    ADD COLUMN receipt_expires_date      timestamptz,
    ADD COLUMN receipt_revocation_date   timestamptz,
    ADD COLUMN receipt_revocation_reason integer,
    ADD COLUMN receipt_is_upgraded       boolean,
    -- The contract that the charge was of until a statement said otherwise, so that the books of that one are looked at, too; null in all that
    -- Apple has been seen to say. It depends on the order of arrival and is no part of the state.
    ADD COLUMN left_contract             text,
    DROP CONSTRAINT transactions_first_not_after_last,
    ADD CONSTRAINT transactions_first_not_after_last CHECK (first_signed_date <= greatest(signed_date, receipt_date)),
    ADD CONSTRAINT transactions_said_by_somebody CHECK (signed_date IS NOT NULL OR receipt_date IS NOT NULL),
    ADD CONSTRAINT transactions_jws_half_whole CHECK ((signed_date IS NULL) = (payload_hash IS NULL)),
    ADD CONSTRAINT transactions_receipt_half_whole CHECK (
        (receipt_date IS NULL) = (receipt_hash IS NULL)
        AND (receipt_date IS NOT NULL OR (receipt_expires_date IS NULL AND receipt_revocation_date IS NULL
                                          AND receipt_revocation_reason IS NULL AND receipt_is_upgraded IS NULL)));

-- A refund is one whoever tells of it. Receipts have whole seconds: the date in the key has them, too.
DELETE FROM appstore.effects AS twice
USING appstore.effects AS kept
WHERE twice.kind IN ('refunded', 'revoked') AND kept.kind = twice.kind AND kept.environment = twice.environment
  AND kept.transaction_id = twice.transaction_id AND kept.effect_id < twice.effect_id
  AND date_trunc('second', kept.occurred_at) = date_trunc('second', twice.occurred_at);
UPDATE appstore.effects AS e
SET effect_key = e.transaction_id || '/' || (floor(extract(epoch FROM e.occurred_at)) * 1000)::bigint
WHERE e.kind IN ('refunded', 'revoked')
  AND e.effect_key <> e.transaction_id || '/' || (floor(extract(epoch FROM e.occurred_at)) * 1000)::bigint;

-- The app whose shared secret alone vouches for what happened: a notification V1's. Null of what Apple vouches for.
ALTER TABLE appstore.effects ADD COLUMN vouched_bundle_id text;

-- What notifications V1 and verifyReceipt say of a contract's renewal: pending_renewal_info, one register, replaced as a whole. Beside that of
-- the JWS and never mixed with it; who of the two counts is said in m0024. Each app has a register of its own, for its secret is good for no
-- other one's contracts: what counts is that of the app whose charges the contract has.
CREATE TABLE appstore.legacy_renewals (
    environment                appstore.environment NOT NULL,
    original_transaction_id    text        NOT NULL,
    bundle_id                  text        NOT NULL,   -- whose word it is
    provenance                 text        NOT NULL,   -- v1: only a shared secret vouches for it; verify_receipt: Apple's own answer
    product_id                 text,
    auto_renew_product_id      text,
    auto_renew_status          integer,
    is_in_billing_retry_period boolean,
    expiration_intent          integer,
    grace_period_expires_date  timestamptz,
    price_increase_status      integer,                -- price_increase_status, else price_consent_status
    promotional_offer_id       text,
    offer_code_ref_name        text,
    stated_at                  timestamptz NOT NULL,   -- auto_renew_status_change_date, else receipt_creation_date; or request_date
    fact_hash                  bytea       NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, bundle_id),
    CONSTRAINT legacy_renewals_provenance_is_known CHECK (provenance IN ('v1', 'verify_receipt'))
) WITH (fillfactor = 80);

-- Whose app posted a receipt with this contract in it. A join: the first such post by arrival. transaction_id is the purchase that was just
-- made, where the post names one of this contract, else empty.
CREATE TABLE appstore.receipt_submissions (
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL,
    user_id                 text        NOT NULL,
    transaction_id          text        NOT NULL DEFAULT '',
    received_at             timestamptz NOT NULL,
    event_id                bigint      NOT NULL,   -- decides between posts of the same instant
    PRIMARY KEY (original_transaction_id, environment, user_id, transaction_id),
    CONSTRAINT receipt_submissions_user_is_a_name CHECK (octet_length(user_id) BETWEEN 1 AND 255)
);

CREATE INDEX receipt_submissions_by_user ON appstore.receipt_submissions (user_id);

-- The contracts that an event is about, where there are several: an outcome has room for one. Consumables are left out.
CREATE TABLE appstore.event_contracts (
    environment             appstore.environment NOT NULL,
    original_transaction_id text   NOT NULL,
    event_id                bigint NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, event_id)
);
CREATE INDEX event_contracts_by_event ON appstore.event_contracts (event_id);

GRANT SELECT, INSERT, UPDATE ON appstore.legacy_renewals, appstore.receipt_submissions TO appstore_worker;
GRANT SELECT, INSERT ON appstore.event_contracts TO appstore_worker;
GRANT SELECT ON appstore.legacy_renewals, appstore.receipt_submissions, appstore.event_contracts TO appstore_operator, appstore_viewer;
