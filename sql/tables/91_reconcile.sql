-- Reconciliation: contracts whose state in the ledger looks stale, and what was asked about them.

CREATE TABLE appstore.reconcile_walks (
    bundle_id   text        NOT NULL COLLATE "C",
    environment appstore.environment NOT NULL,
    walk        text        NOT NULL COLLATE "C",
    until       timestamptz NOT NULL,
    PRIMARY KEY (bundle_id, environment, walk),
    CONSTRAINT reconcile_walks_walk_is_known CHECK (walk IN (
        'before 3 days', 'before 2 days', 'before 1 day', 'after 1 hour', 'after 1 day', 'after 3 days', 'after 7 days', 'after 30 days',
        'purchases', 'refunds', 'late refunds', 'sample'))
);
COMMENT ON TABLE appstore.reconcile_walks IS
    'How far appstore.reconcile has looked for stale contracts, of each app and environment whose key a worker has had.';
COMMENT ON COLUMN appstore.reconcile_walks.walk IS
    'before and after: ends of periods, so long before or after them; purchases: events with a purchase and without its renewal; refunds and '
    'late refunds: refund requests, 48 hours and a week after Apple asked; sample: the random questions.';
COMMENT ON COLUMN appstore.reconcile_walks.until IS
    'What happened until here was looked at: the ends, outcomes, or due times of requests. The share of the day until here was asked about.';

CREATE TABLE appstore.reconcile_watches (
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL COLLATE "C",
    rule                    text        NOT NULL COLLATE "C",
    bundle_id               text        NOT NULL COLLATE "C",
    transaction_id          text        COLLATE "C",
    since                   timestamptz NOT NULL,
    next_at                 timestamptz NOT NULL,
    questions               integer     NOT NULL DEFAULT 0,
    PRIMARY KEY (original_transaction_id, environment, rule),
    CONSTRAINT reconcile_watches_rule_is_known CHECK (
        rule IN ('expired_silent', 'no_renewal_info', 'in_retry', 'revoked_doubt', 'price_consent')),
    CONSTRAINT reconcile_watches_refund_of_a_transaction CHECK ((transaction_id IS NOT NULL) = (rule = 'revoked_doubt'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.reconcile_watches IS
    'Contracts that looked stale when appstore.reconcile found them. At next_at it looks again: it asks, or deletes the row where the rule no longer '
    'holds. appstore.stale_contracts shows those that are stale now.';
COMMENT ON COLUMN appstore.reconcile_watches.rule IS
    'expired_silent: a period ended, it was to renew, and nothing came; no_renewal_info: only a transaction is known, or it and '
    'how the period before it ended; in_retry: Apple tries to charge; revoked_doubt: a refund was asked for, and no decision came; price_consent: a consent is missing shortly before the renewal.';
COMMENT ON COLUMN appstore.reconcile_watches.transaction_id IS 'The charge whose refund is in doubt.';
COMMENT ON COLUMN appstore.reconcile_watches.since IS 'Since when: the end of the period, when the purchase came, or when the refund was asked for.';
COMMENT ON COLUMN appstore.reconcile_watches.next_at IS 'When it is looked at again.';
COMMENT ON COLUMN appstore.reconcile_watches.questions IS 'How often Apple was asked by this rule since.';
-- The watches of an app that are due: those that are many apart from the others, of which a customer may wait for each.
CREATE INDEX reconcile_watches_due ON appstore.reconcile_watches
    (bundle_id, environment, (CASE rule WHEN 'no_renewal_info' THEN 1 WHEN 'in_retry' THEN 2 ELSE 0 END), next_at);

CREATE TABLE appstore.reconcile_questions (
    question_id             bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    environment             appstore.environment NOT NULL,
    original_transaction_id text        NOT NULL COLLATE "C",
    bundle_id               text        NOT NULL COLLATE "C",
    rule                    text        NOT NULL COLLATE "C",
    transaction_id          text        COLLATE "C",
    app_transaction_id      text        COLLATE "C",
    asked_at                timestamptz NOT NULL,
    call_id                 bigint      NOT NULL,
    status                  integer,
    will_renew              boolean,
    current_period_end      timestamptz,
    revoked_at              timestamptz,
    access_until            timestamptz,
    result                  text        COLLATE "C",
    settled_at              timestamptz,
    CONSTRAINT reconcile_questions_rule_is_known CHECK (
        rule IN ('expired_silent', 'no_renewal_info', 'in_retry', 'revoked_doubt', 'price_consent', 'sample', 'operator')),
    -- null can become any other, which are final.
    CONSTRAINT reconcile_questions_result_is_known CHECK (result IN ('same', 'changed', 'overtaken', 'unanswered')),
    CONSTRAINT reconcile_questions_settled_in_the_end CHECK ((result IS NULL) = (settled_at IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.reconcile_questions IS
    'Each question to Apple about a contract, what the ledger said when it was asked, and whether the answer changed it. Kept for 90 days.';
COMMENT ON COLUMN appstore.reconcile_questions.question_id IS 'The number of the question.';
COMMENT ON COLUMN appstore.reconcile_questions.rule IS
    'As in reconcile_watches; or sample: an active contract, chosen at random; operator: appstore.reconcile_contract.';
COMMENT ON COLUMN appstore.reconcile_questions.transaction_id IS 'The charge whose refund is in doubt.';
COMMENT ON COLUMN appstore.reconcile_questions.app_transaction_id IS
    'Apple''s appTransactionId of the customer, where it is known: one customer is asked about once a day.';
COMMENT ON COLUMN appstore.reconcile_questions.asked_at IS 'When the call was written.';
COMMENT ON COLUMN appstore.reconcile_questions.call_id IS 'The call of the outbox.';
COMMENT ON COLUMN appstore.reconcile_questions.status IS 'That of the contract when it was asked, as in the following columns.';
COMMENT ON COLUMN appstore.reconcile_questions.will_renew IS 'Whether it was to renew then.';
COMMENT ON COLUMN appstore.reconcile_questions.current_period_end IS 'The end of its period then.';
COMMENT ON COLUMN appstore.reconcile_questions.access_until IS 'Until when it gave access then.';
COMMENT ON COLUMN appstore.reconcile_questions.revoked_at IS 'When it was revoked; for revoked_doubt when the charge was.';
COMMENT ON COLUMN appstore.reconcile_questions.result IS
    'same; changed: the answer changed what the customer may use, or until when; overtaken: other events about the contract came meanwhile, so that '
    'nothing can be said; unanswered: the call ended without an answer, or the answer does not name the contract; null while it is open.';
COMMENT ON COLUMN appstore.reconcile_questions.settled_at IS 'When the result was found.';
-- The questions that wait for their answer.
CREATE INDEX reconcile_questions_open ON appstore.reconcile_questions (question_id) WHERE result IS NULL;
-- The last question about a contract, and about a customer.
CREATE INDEX reconcile_questions_by_contract ON appstore.reconcile_questions (original_transaction_id, asked_at);
CREATE INDEX reconcile_questions_by_customer ON appstore.reconcile_questions (app_transaction_id, asked_at) WHERE app_transaction_id IS NOT NULL;

CREATE TABLE appstore.reconcile_counts (
    day       date   NOT NULL,
    rule      text   NOT NULL COLLATE "C",
    questions bigint NOT NULL DEFAULT 0,
    answered  bigint NOT NULL DEFAULT 0,
    changed   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (day, rule)
) WITH (fillfactor = 50);
COMMENT ON TABLE appstore.reconcile_counts IS 'The questions and results of each day (UTC) and rule. They are kept; the questions themselves age.';
COMMENT ON COLUMN appstore.reconcile_counts.day IS 'When it was asked, or the result was found.';
COMMENT ON COLUMN appstore.reconcile_counts.rule IS 'As in reconcile_questions.';
COMMENT ON COLUMN appstore.reconcile_counts.questions IS 'Questions that were asked.';
COMMENT ON COLUMN appstore.reconcile_counts.answered IS 'Results same and changed.';
COMMENT ON COLUMN appstore.reconcile_counts.changed IS 'The result changed.';
