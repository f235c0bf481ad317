-- Answers to Apple's consumption requests: what is to be sent, who has consented, and what was decided.

CREATE TABLE appstore.consumption_policies (
    policy_id  bigint  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id  text    NOT NULL COLLATE "C",
    product_id text    COLLATE "C",
    mode       text    NOT NULL COLLATE "C",
    delivery   text    COLLATE "C",
    sample     boolean,
    percentage integer,
    preference text    COLLATE "C",
    CONSTRAINT consumption_policies_key UNIQUE NULLS NOT DISTINCT (bundle_id, product_id),
    CONSTRAINT consumption_policies_mode_is_known CHECK (mode IN ('off', 'backend', 'default')),
    CONSTRAINT consumption_policies_answer_of_default CHECK (
        (mode = 'default') = (delivery IS NOT NULL) AND (mode = 'default') = (sample IS NOT NULL)
        AND (mode = 'default' OR (percentage IS NULL AND preference IS NULL))),
    CONSTRAINT consumption_policies_delivery_is_known CHECK (delivery IN (
        'DELIVERED', 'UNDELIVERED_QUALITY_ISSUE', 'UNDELIVERED_WRONG_ITEM', 'UNDELIVERED_SERVER_OUTAGE', 'UNDELIVERED_OTHER')),
    CONSTRAINT consumption_policies_percentage_in_range CHECK (percentage BETWEEN 0 AND 100000),
    CONSTRAINT consumption_policies_undelivered_is_unused CHECK (delivery = 'DELIVERED' OR coalesce(percentage, 0) = 0),
    CONSTRAINT consumption_policies_preference_is_known CHECK (preference IN ('DECLINE', 'GRANT_FULL', 'GRANT_PRORATED'))
);
COMMENT ON TABLE appstore.consumption_policies IS
    'How Apple''s consumption requests about an app''s purchases are answered: rows that the operator writes. The row of the product counts, else '
    'that of the app without a product, else off.';
COMMENT ON COLUMN appstore.consumption_policies.policy_id IS 'The number of the policy.';
COMMENT ON COLUMN appstore.consumption_policies.product_id IS 'The product; null for all products of the app without a row of their own.';
COMMENT ON COLUMN appstore.consumption_policies.mode IS
    'off: nothing is sent. backend: what appstore.answer_consumption decides is sent. default: that, and the answer of this row where nothing was '
    'decided two hours before the request is due and the user''s consent is in appstore.consents.';
COMMENT ON COLUMN appstore.consumption_policies.delivery IS 'Apple''s deliveryStatus in the answer of mode default.';
COMMENT ON COLUMN appstore.consumption_policies.sample IS 'Apple''s sampleContentProvided in that answer.';
COMMENT ON COLUMN appstore.consumption_policies.percentage IS
    'Apple''s consumptionPercentage in that answer, in thousandths of a percent; left out for auto-renewable subscriptions.';
COMMENT ON COLUMN appstore.consumption_policies.preference IS 'Apple''s refundPreference in that answer.';

CREATE TABLE appstore.consents (
    consent_id   bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      text        NOT NULL COLLATE "C",
    given_at     timestamptz NOT NULL,
    given_by     text        NOT NULL,
    evidence     text,
    withdrawn_at timestamptz,
    withdrawn_by text,
    CONSTRAINT consents_user_is_a_name CHECK (char_length(user_id) BETWEEN 1 AND 255),
    CONSTRAINT consents_evidence_is_short CHECK (char_length(evidence) BETWEEN 1 AND 1000),
    CONSTRAINT consents_withdrawal_whole CHECK ((withdrawn_at IS NULL) = (withdrawn_by IS NULL))
);
COMMENT ON TABLE appstore.consents IS
    'Users'' consents to tell Apple how they consumed purchases. A user has one in force at most; withdrawn ones stay as a record.';
COMMENT ON COLUMN appstore.consents.consent_id IS 'The number of the consent.';
COMMENT ON COLUMN appstore.consents.given_at IS 'When the user gave it.';
COMMENT ON COLUMN appstore.consents.given_by IS 'The login, or the API key, that recorded it.';
COMMENT ON COLUMN appstore.consents.evidence IS 'How the user gave it, such as the version of the terms; null once the user is forgotten.';
COMMENT ON COLUMN appstore.consents.withdrawn_at IS 'When it was withdrawn; null while it is in force.';
COMMENT ON COLUMN appstore.consents.withdrawn_by IS 'The login, or the API key, that withdrew it.';
CREATE UNIQUE INDEX consents_in_force ON appstore.consents (user_id) WHERE withdrawn_at IS NULL;
-- The consents of a user, in force or not.
CREATE INDEX consents_by_user ON appstore.consents (user_id);

CREATE TYPE appstore.consumption_answer AS (
    consented  boolean,
    delivery   text,
    sample     boolean,
    percentage integer,
    preference text,
    evidence   text,
    details    jsonb
);
COMMENT ON TYPE appstore.consumption_answer IS 'What appstore.answer_consumption takes.';

CREATE TABLE appstore.consumption_decisions (
    decision_id    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment    appstore.environment NOT NULL,
    transaction_id text        NOT NULL COLLATE "C",
    decided_at     timestamptz NOT NULL,
    decided_by     text        NOT NULL,
    origin         text        NOT NULL COLLATE "C",
    user_id        text        COLLATE "C",
    answer         appstore.consumption_answer,
    call_id        bigint,
    result         text        COLLATE "C",
    reason         text,
    settled_at     timestamptz,
    CONSTRAINT consumption_decisions_origin_is_known CHECK (origin IN ('decision', 'policy', 'elsewhere')),
    CONSTRAINT consumption_decisions_answer_where_decided CHECK ((answer IS NULL) = (origin = 'elsewhere')),
    CONSTRAINT consumption_decisions_call_with_consent CHECK ((call_id IS NOT NULL) = coalesce((answer).consented, false)),
    -- null can become any result, and a repeated call makes it null again.
    CONSTRAINT consumption_decisions_result_is_known CHECK (result IN ('answered', 'refused', 'given_up', 'discarded')),
    CONSTRAINT consumption_decisions_settled_in_the_end CHECK ((result IS NULL) = (settled_at IS NULL))
);
COMMENT ON TABLE appstore.consumption_decisions IS
    'Every decision how to answer a consumption request, and what became of it. The latest one counts; it is about each request that Apple signed '
    'until decided_at.';
COMMENT ON COLUMN appstore.consumption_decisions.decision_id IS 'The number of the decision.';
COMMENT ON COLUMN appstore.consumption_decisions.decided_at IS 'When it was decided, or when Apple signed the request, where that is later.';
COMMENT ON COLUMN appstore.consumption_decisions.decided_by IS 'The login, or the API key, that decided.';
COMMENT ON COLUMN appstore.consumption_decisions.origin IS
    'decision: appstore.answer_consumption; policy: mode default of consumption_policies; elsewhere: appstore.consumption_answered.';
COMMENT ON COLUMN appstore.consumption_decisions.answer IS
    'What was decided. evidence and details are null once the user is forgotten; without consent nothing else is kept.';
COMMENT ON COLUMN appstore.consumption_decisions.call_id IS 'The call of the outbox that sends it; null where nothing is sent.';
COMMENT ON COLUMN appstore.consumption_decisions.result IS
    'The state in which the call ended: answered (Apple took it), refused, given_up or discarded; null while it is open or there is none.';
COMMENT ON COLUMN appstore.consumption_decisions.reason IS 'Why it was refused, given up or discarded: Apple''s code, apple_decided, replaced …';
COMMENT ON COLUMN appstore.consumption_decisions.settled_at IS 'When the call ended.';
-- The decisions about a request.
CREATE INDEX consumption_decisions_by_transaction ON appstore.consumption_decisions (transaction_id, environment);
-- The decision that a call sends.
CREATE UNIQUE INDEX consumption_decisions_by_call ON appstore.consumption_decisions (call_id);
-- What appstore.withdraw_consent discards and appstore.forget erases.
CREATE INDEX consumption_decisions_by_user ON appstore.consumption_decisions (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE appstore.consumption_counted (
    environment    appstore.environment NOT NULL,
    transaction_id text        NOT NULL COLLATE "C",
    due_at         timestamptz NOT NULL,
    is_missed      boolean     NOT NULL,
    PRIMARY KEY (transaction_id, environment)
);
COMMENT ON TABLE appstore.consumption_counted IS
    'The requests of the last two days that are over, so that appstore.apply_consumption_policies counts each missed one once.';
COMMENT ON COLUMN appstore.consumption_counted.due_at IS
    'When it was due. The first notification of a request can come last, which makes this earlier; a later one is of another request.';
COMMENT ON COLUMN appstore.consumption_counted.is_missed IS 'Whether it was missed, by the policy of the time.';
