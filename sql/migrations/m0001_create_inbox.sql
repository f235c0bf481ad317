-- The inbox: what came in, what waits, what became of it.
CREATE SCHEMA appstore;

-- Which migrations this database has; `appstore-inbox migrate` adds a row in each migration's own transaction.
CREATE TABLE appstore.schema_migrations (
    version    integer     NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Part of every key of the ledger: Sandbox never touches Production.
CREATE DOMAIN appstore.environment AS text CHECK (VALUE IN ('Production', 'Sandbox'));

CREATE SEQUENCE appstore.inbox_event_id AS bigint;

-- Append-only. Bodies are bytes as they came: jsonb would refuse \u0000 and lone surrogates, and lose the event.
-- Partitioned by id, so that old bodies go by dropping a partition; the default partition means that no insert can fail for want of one.
CREATE TABLE appstore.inbox (
    event_id    bigint      NOT NULL DEFAULT nextval('appstore.inbox_event_id'),
    source      text        NOT NULL,
    received_at timestamptz NOT NULL,
    body        bytea       NOT NULL,
    PRIMARY KEY (event_id),
    CONSTRAINT inbox_source_is_a_name CHECK (source ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT inbox_body_within_limits CHECK (octet_length(body) BETWEEN 1 AND 4194304)
) PARTITION BY RANGE (event_id);
-- Base64 does not shrink: compressing it would only cost time.
ALTER TABLE appstore.inbox ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER SEQUENCE appstore.inbox_event_id OWNED BY appstore.inbox.event_id;

CREATE TABLE appstore.inbox_default PARTITION OF appstore.inbox DEFAULT;

-- The queue: a narrow row for each event without outcome, deleted when it gets one. Separate from the bodies, so that neither
-- ten million settled events nor a snapshot held for long slow the claim. No foreign key on this path; a test checks what it would.
CREATE TABLE appstore.inbox_ready (
    event_id   bigint      NOT NULL PRIMARY KEY,
    run_at     timestamptz NOT NULL,
    attempts   smallint    NOT NULL DEFAULT 0,
    bytes      integer     NOT NULL,
    is_suspect boolean     NOT NULL DEFAULT false, -- was in a batch whose process died: runs alone
    last_error text,
    CONSTRAINT inbox_ready_attempts_not_negative CHECK (attempts >= 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
-- The claim walks this in order and stops at the first event that is not due.
CREATE INDEX inbox_ready_by_run_at ON appstore.inbox_ready (run_at, event_id);

-- Crash marker: which events a lane (one start of a worker, one connection) has in its hands.
CREATE TABLE appstore.inbox_in_flight (
    lane       uuid        NOT NULL PRIMARY KEY,
    event_ids  bigint[]    NOT NULL,
    started_at timestamptz NOT NULL
);

-- One row for each settled event: at any time inbox = inbox_ready + outcomes, each event once.
CREATE TABLE appstore.outcomes (
    event_id                bigint      NOT NULL PRIMARY KEY,
    source                  text        NOT NULL,
    received_at             timestamptz NOT NULL,
    settled_at              timestamptz NOT NULL,
    run                     integer     NOT NULL, -- 1, and one more after each requeue
    attempts                integer     NOT NULL, -- of this run
    result                  text        NOT NULL,
    reason                  text,
    last_error              text,
    -- What a verified payload says of itself; null where nothing was verified.
    notification_type       text,
    subtype                 text,
    notification_uuid       text,
    environment             text,
    bundle_id               text,
    transaction_id          text,
    original_transaction_id text,
    CONSTRAINT outcomes_result_is_known CHECK (result IN ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected',
                                                          'failed', 'discarded')),
    CONSTRAINT outcomes_reason_where_needed CHECK (reason IS NOT NULL OR result NOT IN ('unhandled', 'rejected', 'failed', 'discarded'))
);
-- What an operator looks for: what did not go well, newest first.
CREATE INDEX outcomes_needing_attention ON appstore.outcomes (result, settled_at)
    WHERE result IN ('failed', 'rejected', 'unhandled', 'discarded');
-- Everything that was said about one contract.
CREATE INDEX outcomes_by_contract ON appstore.outcomes (environment, original_transaction_id)
    WHERE original_transaction_id IS NOT NULL;

-- Outcomes of earlier runs, moved here by requeue and discard.
CREATE TABLE appstore.outcome_history (
    LIKE appstore.outcomes,
    replaced_at timestamptz NOT NULL,
    replaced_by text        NOT NULL,
    PRIMARY KEY (event_id, run)
);

-- Every repair: who did what to which events, and why.
CREATE TABLE appstore.audit_log (
    audit_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL,
    actor     text        NOT NULL,
    action    text        NOT NULL,
    event_ids bigint[]    NOT NULL,
    note      text,
    filter    jsonb
);

-- The one thing that ingest may do. Bodies are stored in order; returns their event ids in that order. An empty array stores nothing and
-- shows that storing would be possible. The source is checked here, for the caller is not trusted with more than notifications.
CREATE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2') RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF source IS DISTINCT FROM 'notification_v2' THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body)
        SELECT receive.source, clock_timestamp(), received.body
        FROM unnest(bodies) WITH ORDINALITY AS received (body, position)
        ORDER BY received.position
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id;
END
$$;

GRANT USAGE ON SCHEMA appstore TO appstore_ingest, appstore_worker, appstore_operator, appstore_viewer, appstore_backend;
REVOKE EXECUTE ON FUNCTION appstore.receive(bytea[], text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.receive(bytea[], text) TO appstore_ingest;

GRANT SELECT ON appstore.schema_migrations TO appstore_worker, appstore_operator, appstore_viewer;
GRANT SELECT ON appstore.inbox TO appstore_worker;
GRANT SELECT, UPDATE, DELETE ON appstore.inbox_ready TO appstore_worker;
GRANT SELECT, INSERT, DELETE ON appstore.inbox_in_flight TO appstore_worker;
GRANT SELECT, INSERT ON appstore.outcomes TO appstore_worker;
GRANT SELECT ON appstore.outcome_history TO appstore_worker;
GRANT SELECT ON appstore.inbox_ready, appstore.inbox_in_flight, appstore.outcomes, appstore.outcome_history, appstore.audit_log
    TO appstore_operator, appstore_viewer;
