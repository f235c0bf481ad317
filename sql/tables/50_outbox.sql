-- The outbox: calls to other services, written in the transaction that requests them, made by a worker outside of any transaction, at least once.

CREATE TABLE appstore.call_kinds (
    kind   text NOT NULL COLLATE "C" PRIMARY KEY,
    source text COLLATE "C",
    CONSTRAINT call_kinds_source_is_a_source CHECK (source ~ '^[a-z][a-z0-9_]{0,62}$')
);
COMMENT ON TABLE appstore.call_kinds IS 'The kinds of calls that can be answered, and what their answers become.';
COMMENT ON COLUMN appstore.call_kinds.kind IS 'The column kind of the outbox.';
COMMENT ON COLUMN appstore.call_kinds.source IS 'The source of the events that an answer becomes; null for answers that are no event.';
INSERT INTO appstore.call_kinds (kind, source) VALUES
    ('verify_receipt', 'verify_receipt'), ('consumption', NULL),
    -- Of the App Store Server API, by the names of its endpoints.
    ('transaction_info', 'transaction_info'), ('transaction_history', 'transaction_info'), ('refund_history', 'transaction_info'),
    ('order_lookup', 'transaction_info'), ('subscription_statuses', 'subscription_status'), ('app_transaction', 'app_transaction'),
    ('set_app_account_token', NULL), ('finish_transaction', NULL), ('extend_renewal_date', NULL), ('extend_for_all', NULL),
    ('extend_status', NULL), ('test_notification', NULL), ('test_status', NULL),
    ('customer_groups', NULL), ('group_members', NULL), ('seat_info', NULL);

CREATE TABLE appstore.outbox (
    call_id           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind              text        NOT NULL COLLATE "C",
    call_key          text        NOT NULL COLLATE "C",
    bundle_id         text        NOT NULL COLLATE "C",
    environment       appstore.environment NOT NULL DEFAULT 'Production',
    priority          smallint    NOT NULL DEFAULT 1,
    event_id          bigint,
    asked_by          bigint[]    NOT NULL DEFAULT '{}',
    payload           bytea,
    asked_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline_at       timestamptz NOT NULL,
    run_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_leased         boolean     NOT NULL DEFAULT false,
    epoch             bigint      NOT NULL DEFAULT 0,
    attempts          integer     NOT NULL DEFAULT 0,
    last_reason       text,
    waits_for         text,
    repeats           integer     NOT NULL DEFAULT 0,
    state             text        NOT NULL COLLATE "C" DEFAULT 'open',
    reason            text,
    settled_at        timestamptz,
    answer            jsonb,
    answer_event_id   bigint,
    answer_event_ids  bigint[]    NOT NULL DEFAULT '{}',
    fallback_source   text        COLLATE "C",
    fallback_event_id bigint,
    CONSTRAINT outbox_kind_is_a_name CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT outbox_priority_is_a_class CHECK (priority BETWEEN 0 AND 4),
    CONSTRAINT outbox_key_is_short CHECK (octet_length(call_key) BETWEEN 1 AND 255),
    CONSTRAINT outbox_made_of_something CHECK (event_id IS NOT NULL OR payload IS NOT NULL),
    CONSTRAINT outbox_payload_within_limits CHECK (octet_length(payload) <= 4194304),
    -- open can become any other state; the others are final.
    CONSTRAINT outbox_state_is_known CHECK (state IN ('open', 'answered', 'refused', 'given_up', 'discarded')),
    CONSTRAINT outbox_settled_in_the_end CHECK ((state = 'open') = (settled_at IS NULL) AND (state = 'open' OR NOT is_leased)),
    CONSTRAINT outbox_reason_where_needed CHECK (reason IS NOT NULL OR state IN ('open', 'answered')),
    CONSTRAINT outbox_answer_is_small CHECK (octet_length(answer::text) <= 65536),
    CONSTRAINT outbox_answer_of_the_answered CHECK (answer_event_id IS NULL OR state = 'answered'),
    CONSTRAINT outbox_fallback_is_a_source CHECK (fallback_source ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT outbox_fallback_where_wanted CHECK (fallback_event_id IS NULL OR fallback_source IS NOT NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.outbox IS
    'Calls to make. A worker leases a call: run_at moves to the end of the lease and epoch is counted up. A worker that returns with an older '
    'epoch is refused; a worker that dies needs no cleanup, because its call is due again when the lease ends.';
COMMENT ON COLUMN appstore.outbox.call_id IS 'The number of the call.';
COMMENT ON COLUMN appstore.outbox.kind IS 'The service that is called, such as verify_receipt.';
COMMENT ON COLUMN appstore.outbox.call_key IS 'Identifies the request; there is one open call for each key.';
COMMENT ON COLUMN appstore.outbox.environment IS 'Apple''s environment that is asked, or asked first.';
COMMENT ON COLUMN appstore.outbox.priority IS
    '0 a deadline, 1 a person or program waits, 2 reconciliation, 3 history, 4 import. Lower ones are made first, and spend of the budget first.';
COMMENT ON COLUMN appstore.outbox.event_id IS 'The event whose body the call sends.';
COMMENT ON COLUMN appstore.outbox.asked_by IS 'The events that requested the call, about a hundred at most; the body of any of them can be sent.';
COMMENT ON COLUMN appstore.outbox.payload IS 'The data to send where it is not an event''s body; never a secret.';
COMMENT ON COLUMN appstore.outbox.asked_at IS 'When it was written.';
COMMENT ON COLUMN appstore.outbox.deadline_at IS 'When an open call is given up.';
COMMENT ON COLUMN appstore.outbox.run_at IS 'When it is due: at once, at the end of a lease or of its back-off.';
COMMENT ON COLUMN appstore.outbox.is_leased IS 'Whether a worker makes the call until run_at.';
COMMENT ON COLUMN appstore.outbox.epoch IS 'Number of leases so far.';
COMMENT ON COLUMN appstore.outbox.attempts IS 'The attempts that count: not those that waited for the budget, for the end of a 429, or for a key.';
COMMENT ON COLUMN appstore.outbox.last_reason IS 'Why the latest attempt that counts brought no answer.';
COMMENT ON COLUMN appstore.outbox.waits_for IS 'Why it was postponed last: last_reason, or what the call itself has no part in, such as api_key.';
COMMENT ON COLUMN appstore.outbox.repeats IS 'How often in a row an attempt ended with last_reason.';
COMMENT ON COLUMN appstore.outbox.state IS 'open; answered; refused (a later answer would be the same); given_up (deadline passed); discarded.';
COMMENT ON COLUMN appstore.outbox.reason IS 'Why it was refused, given up or discarded.';
COMMENT ON COLUMN appstore.outbox.answer IS
    'What of the answer is no event, such as the status of an order number, and how many events there are; never a JWS. Of an open call: its pages so far.';
COMMENT ON COLUMN appstore.outbox.answer_event_ids IS
    'The events that the answer became, in its order, at most 1,000. Of an open call: those of its pages so far.';
COMMENT ON COLUMN appstore.outbox.answer_event_id IS 'The event that the answer became; the first one of an answer of several bodies.';
COMMENT ON COLUMN appstore.outbox.fallback_event_id IS 'The event under which the body was stored again.';
COMMENT ON COLUMN appstore.outbox.fallback_source IS 'The source under which the event''s body is stored in the inbox again when there is no answer.';
-- Due calls by app, environment and kind: calls that no worker can make do not delay the others, nor do postponed ones of a lower priority.
CREATE INDEX outbox_due ON appstore.outbox (bundle_id, environment, kind, priority, run_at, call_id) WHERE state = 'open';
-- One open call for each key. kind is last, so that the planner does not take this index for the due ones.
CREATE UNIQUE INDEX outbox_open ON appstore.outbox (call_key, kind) WHERE state = 'open';
-- The latest call with a key, and whether it was answered within the hour.
CREATE INDEX outbox_by_key ON appstore.outbox (call_key, kind, call_id);
-- The call that an event answers: its fallback is used when the answer cannot be used.
CREATE INDEX outbox_of_answer ON appstore.outbox (answer_event_id) WHERE answer_event_id IS NOT NULL;
-- The calls that send an event's body, which appstore.forget discards.
CREATE INDEX outbox_of_event ON appstore.outbox (event_id) WHERE event_id IS NOT NULL;
-- The walks of appstore.expire_calls, which must not read all open calls while Apple does not answer.
CREATE INDEX outbox_deadlines ON appstore.outbox (deadline_at, call_id) WHERE state = 'open';
CREATE INDEX outbox_awaited ON appstore.outbox (asked_at, call_id)
    WHERE state = 'open' AND fallback_source IS NOT NULL AND fallback_event_id IS NULL;
CREATE INDEX outbox_settled ON appstore.outbox (settled_at, call_id) WHERE state <> 'open';
