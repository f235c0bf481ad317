-- The inbox: what came in, what waits, and what became of it.
-- At any time inbox = inbox_queue + outcomes, each event once. No foreign keys on this path; a test checks what they would.

CREATE SEQUENCE appstore.inbox_event_id AS bigint;
COMMENT ON SEQUENCE appstore.inbox_event_id IS 'The ids of events, in order of arrival. They may have gaps.';

CREATE TABLE appstore.inbox (
    event_id    bigint      NOT NULL DEFAULT nextval('appstore.inbox_event_id'),
    source      text        NOT NULL COLLATE "C",
    received_at timestamptz NOT NULL,
    body        bytea       NOT NULL,
    PRIMARY KEY (event_id),
    CONSTRAINT inbox_source_is_a_name CHECK (source ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT inbox_body_within_limits CHECK (octet_length(body) BETWEEN 1 AND 4194304)
) PARTITION BY RANGE (event_id);
-- Base64 does not compress: compression would only cost time.
ALTER TABLE appstore.inbox ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER SEQUENCE appstore.inbox_event_id OWNED BY appstore.inbox.event_id;
COMMENT ON TABLE appstore.inbox IS
    'Every event as it came in; append-only, never updated. Partitioned by event_id, so that old bodies go by dropping a partition.';
COMMENT ON COLUMN appstore.inbox.source IS
    'Where the event came from: notification_v2, history_v2, notification_v1, client_transaction, client_receipt, verify_receipt, '
    'subscription_status, transaction_info …';
COMMENT ON COLUMN appstore.inbox.body IS 'The raw bytes. jsonb would refuse \u0000 and lone surrogates and so lose the event.';

-- Never fails: the indexes below call it for every client post that comes in.
CREATE FUNCTION appstore.posted_by(body bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user text;
BEGIN
    v_user := convert_from(body, 'UTF8')::jsonb ->> 'user';
    RETURN CASE WHEN char_length(v_user) <= 255 THEN v_user END;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION appstore.posted_by IS 'The user that a client post names; null when the body cannot be read.';
-- Everything that a user posted, for appstore.forget.
CREATE INDEX inbox_by_poster ON appstore.inbox (appstore.posted_by(body)) WHERE source = 'client_transaction';
CREATE INDEX inbox_receipts_by_poster ON appstore.inbox (appstore.posted_by(body)) WHERE source = 'client_receipt';
CREATE INDEX inbox_app_transactions_by_poster ON appstore.inbox (appstore.posted_by(body)) WHERE source = 'client_app_transaction';

CREATE TABLE appstore.inbox_first PARTITION OF appstore.inbox FOR VALUES FROM (MINVALUE) TO (1000000)
    WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
CREATE TABLE appstore.inbox_rest PARTITION OF appstore.inbox FOR VALUES FROM (1000000) TO (MAXVALUE)
    WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
CREATE TABLE appstore.inbox_default PARTITION OF appstore.inbox DEFAULT
    WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.inbox_first IS 'The first partition. The worker makes the following ones ahead of time.';
COMMENT ON TABLE appstore.inbox_rest IS
    'All later ids, so that no insert can fail. Empty, unless no worker has made partitions for long: then it becomes one, whole.';
COMMENT ON TABLE appstore.inbox_default IS 'The few events that outlive their partition.';

CREATE TABLE appstore.inbox_queue (
    event_id    bigint      NOT NULL PRIMARY KEY,
    run_at      timestamptz NOT NULL,
    attempts    smallint    NOT NULL DEFAULT 0,
    bytes       integer     NOT NULL,
    is_isolated boolean     NOT NULL DEFAULT false,
    last_error  text,
    deaths      smallint    NOT NULL DEFAULT 0,
    run         integer     NOT NULL DEFAULT 1,
    blocked_since timestamptz,
    CONSTRAINT inbox_queue_attempts_not_negative CHECK (attempts >= 0),
    CONSTRAINT inbox_queue_deaths_not_negative CHECK (deaths >= 0),
    CONSTRAINT inbox_queue_run_positive CHECK (run > 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE appstore.inbox_queue IS
    'A narrow row for each event without an outcome, deleted when the event gets one. Separate from the bodies, so that neither ten million '
    'settled events nor a snapshot that is held for long slow the claim.';
COMMENT ON COLUMN appstore.inbox_queue.run_at IS
    'When the event is due: its arrival, or the end of its back-off. Never in the past when it is written, which the worker''s low-water mark '
    'relies on.';
COMMENT ON COLUMN appstore.inbox_queue.bytes IS 'Length of the body, for the byte budget of a batch.';
COMMENT ON COLUMN appstore.inbox_queue.is_isolated IS
    'The event runs by itself: its batch was lost with its process, or the event failed by itself.';
COMMENT ON COLUMN appstore.inbox_queue.deaths IS 'How often a worker died while it ran this event alone. Three make it failed.';
COMMENT ON COLUMN appstore.inbox_queue.blocked_since IS
    'Since when each run has failed for what the server lacks or another session holds; null when the last one did not. No attempt is counted '
    'for a day.';
-- The claim walks this in order and stops at the first event that is not due.
CREATE INDEX inbox_queue_by_run_at ON appstore.inbox_queue (run_at, event_id);
-- Isolated events are few and run one by one, those with the fewest deaths first.
CREATE INDEX inbox_queue_isolated ON appstore.inbox_queue (deaths, run_at, event_id) WHERE is_isolated;

CREATE UNLOGGED TABLE appstore.batch_markers (
    lane         bigint      NOT NULL PRIMARY KEY,
    event_ids    bigint[]    NOT NULL,
    is_alone     boolean     NOT NULL,
    marked_at    timestamptz NOT NULL,
    lost_at      timestamptz,
    server_start timestamptz NOT NULL DEFAULT pg_postmaster_start_time(),
    CONSTRAINT batch_markers_has_events CHECK (cardinality(event_ids) > 0),
    CONSTRAINT batch_markers_alone_is_one CHECK (NOT is_alone OR cardinality(event_ids) = 1)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE appstore.batch_markers IS
    'Crash markers: which events each batch in flight holds. A marker whose advisory lock is free belongs to a batch whose worker died.';
COMMENT ON COLUMN appstore.batch_markers.lane IS 'Random and new for each batch; also the advisory lock that the batch holds.';
COMMENT ON COLUMN appstore.batch_markers.event_ids IS 'The events of the batch.';
COMMENT ON COLUMN appstore.batch_markers.marked_at IS 'When the batch wrote its marker.';
COMMENT ON COLUMN appstore.batch_markers.is_alone IS 'The batch is one isolated event, with no other batch in its process.';
COMMENT ON COLUMN appstore.batch_markers.lost_at IS 'When the lock was first found free. A worker that still runs gets time to report.';
COMMENT ON COLUMN appstore.batch_markers.server_start IS 'Under which start of the server the marker was written.';

CREATE TABLE appstore.outcomes (
    event_id                bigint      NOT NULL PRIMARY KEY,
    source                  text        NOT NULL COLLATE "C",
    received_at             timestamptz NOT NULL,
    settled_at              timestamptz NOT NULL,
    run                     integer     NOT NULL,
    attempts                integer     NOT NULL,
    result                  appstore.result NOT NULL,
    reason                  text,
    last_error              text,
    notification_type       text        COLLATE "C",
    subtype                 text        COLLATE "C",
    notification_uuid       uuid,
    environment             text        COLLATE "C",
    bundle_id               text        COLLATE "C",
    transaction_id          text        COLLATE "C",
    original_transaction_id text        COLLATE "C",
    odd_members             text[],
    CONSTRAINT outcomes_reason_where_needed CHECK (reason IS NOT NULL OR result NOT IN ('unhandled', 'rejected', 'failed', 'discarded'))
) PARTITION BY RANGE (event_id);
COMMENT ON TABLE appstore.outcomes IS
    'What became of each settled event: one row an event. Partitioned as the inbox, in larger ranges, so that its indexes stay small and old '
    'outcomes go by dropping a partition.';
COMMENT ON COLUMN appstore.outcomes.result IS 'What became of the event.';
COMMENT ON COLUMN appstore.outcomes.reason IS
    'A code. For a discarded event the words of the operator, which appstore.forget neither searches nor erases.';
COMMENT ON COLUMN appstore.outcomes.last_error IS 'The error of the last attempt that failed. appstore.forget neither searches nor erases it.';
COMMENT ON COLUMN appstore.outcomes.notification_type IS
    'This column and the following ones: what the verified payload says of itself; null where nothing was verified.';
COMMENT ON COLUMN appstore.outcomes.notification_uuid IS
    'notificationUUID. Of a notification V1, which has none, and of a text that is no UUID, a version 5 UUID of the content or the text.';
COMMENT ON COLUMN appstore.outcomes.odd_members IS
    'Members of genuine content that have another type than the program reads, at most 20, each by its path (transaction.price, items[].price) and '
    'without its value. They counted as absent; where one was needed, the result is unhandled. Then values of Apple''s lists that the program does '
    'not know, at most 20, percent-encoded (transaction.type=Subscription%20Bundle). They were kept. Null where there was neither.';
-- What an operator asks for, oldest first; and what has aged, in the order in which it expires.
CREATE INDEX outcomes_needing_attention ON appstore.outcomes (result, settled_at, event_id)
    WHERE result IN ('failed', 'rejected', 'unhandled', 'discarded');
-- What was settled last. Rows arrive in this order, so that only the last page of the index is written.
CREATE INDEX outcomes_by_time ON appstore.outcomes (settled_at, event_id);
-- The bodies of imports, which age by themselves, in the order in which they expire.
CREATE INDEX outcomes_of_imports ON appstore.outcomes (settled_at, event_id) WHERE source IN ('imported_status', 'imported_transaction');
-- Purchases that came without their renewal, for the reconciliation.
CREATE INDEX outcomes_of_purchases ON appstore.outcomes (settled_at)
    WHERE source IN ('client_transaction', 'client_receipt', 'unanswered_receipt', 'transaction_info', 'imported_transaction');
-- The events about one contract.
CREATE INDEX outcomes_by_contract ON appstore.outcomes (original_transaction_id) WHERE original_transaction_id IS NOT NULL;

CREATE TABLE appstore.outcomes_first PARTITION OF appstore.outcomes FOR VALUES FROM (MINVALUE) TO (1000000)
    WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE TABLE appstore.outcomes_rest PARTITION OF appstore.outcomes FOR VALUES FROM (1000000) TO (MAXVALUE)
    WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE TABLE appstore.outcomes_default PARTITION OF appstore.outcomes DEFAULT WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.outcomes_first IS 'The first partition. The worker makes the following ones ahead of time.';
COMMENT ON TABLE appstore.outcomes_rest IS 'As inbox_rest: the outcomes of all later ids.';
COMMENT ON TABLE appstore.outcomes_default IS 'The few outcomes that outlive their partition.';

CREATE TABLE appstore.outcome_history (
    replaced_at timestamptz NOT NULL,
    replaced_by text        NOT NULL,
    -- Last, as ALTER TABLE adds a new column of outcomes in an older database.
    LIKE appstore.outcomes,
    PRIMARY KEY (event_id, run)
);
COMMENT ON TABLE appstore.outcome_history IS
    'Outcomes of earlier runs, moved here by a requeue or a discard. They go together with the outcome. Other columns are those of outcomes.';
COMMENT ON COLUMN appstore.outcome_history.result IS 'What became of the event in this run.';
COMMENT ON COLUMN appstore.outcome_history.reason IS 'A code, or the words of the operator who discarded the event.';
COMMENT ON COLUMN appstore.outcome_history.odd_members IS 'See outcomes.';
COMMENT ON COLUMN appstore.outcome_history.replaced_at IS 'When a repair ended this run.';
COMMENT ON COLUMN appstore.outcome_history.replaced_by IS 'The login that called the repair.';
-- What was requeued since an instant: a partition that is dropped must not take those events with it.
CREATE INDEX outcome_history_by_replaced_at ON appstore.outcome_history (replaced_at);

CREATE TABLE appstore.event_contracts (
    environment             appstore.environment NOT NULL,
    original_transaction_id text   NOT NULL COLLATE "C",
    event_id                bigint NOT NULL,
    PRIMARY KEY (original_transaction_id, environment, event_id)
);
COMMENT ON TABLE appstore.event_contracts IS
    'The contracts of events that are about more than one, such as receipts; an outcome has room for one. Consumables are left out.';
-- For retention, which deletes by event.
CREATE INDEX event_contracts_by_event ON appstore.event_contracts (event_id);
