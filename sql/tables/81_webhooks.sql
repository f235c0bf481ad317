-- Endpoints: who gets the entries of the feed by HTTP. An endpoint has a cursor over the feed, and rows only for what is an exception.

CREATE TABLE appstore.endpoints (
    name              text        NOT NULL PRIMARY KEY COLLATE "C",
    endpoint_id       uuid        NOT NULL DEFAULT gen_random_uuid(),
    url               text        NOT NULL,
    format            text        NOT NULL COLLATE "C",
    types             text[]      COLLATE "C",
    bundle_ids        text[]      COLLATE "C",
    environments      appstore.environment[],
    with_wrong_bundle boolean     NOT NULL,
    keeps_order       boolean     NOT NULL,
    max_in_flight     integer     NOT NULL,
    max_per_second    integer,
    timeout_seconds   integer     NOT NULL,
    state             text        NOT NULL COLLATE "C" DEFAULT 'enabled',
    why               text,
    state_since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    position          bigint      NOT NULL,
    open_upto         bigint      NOT NULL DEFAULT 0,
    due_from          timestamptz NOT NULL DEFAULT '-infinity',
    secret_generation integer     NOT NULL DEFAULT 1,
    rotated_at        timestamptz,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    epoch             bigint      NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    leased_until      timestamptz,
    failures          integer     NOT NULL DEFAULT 0,
    failing_since     timestamptz,
    open_until        timestamptz,
    probes            integer     NOT NULL DEFAULT 0,
    succeeded_at      timestamptz,
    last_error        text,
    CONSTRAINT endpoints_name_is_a_name CHECK (name ~ '^[a-z][a-z0-9_.-]{0,62}$'),
    -- Without a user or password: secrets are in no database.
    CONSTRAINT endpoints_url_is_http CHECK (url ~ '^https?://[^/?#@[:space:]]+([/?][^#[:space:]]*)?$' AND octet_length(url) <= 2000),
    CONSTRAINT endpoints_format_is_known CHECK (format IN ('event', 'raw')),
    CONSTRAINT endpoints_raw_has_no_types CHECK (format = 'event' OR types IS NULL),
    CONSTRAINT endpoints_wrong_bundle_is_raw CHECK (format = 'raw' OR NOT with_wrong_bundle),
    CONSTRAINT endpoints_filters_let_something_through CHECK (
        coalesce(cardinality(types), 1) > 0 AND coalesce(cardinality(bundle_ids), 1) > 0 AND coalesce(cardinality(environments), 1) > 0),
    CONSTRAINT endpoints_window_sensible CHECK (max_in_flight BETWEEN 1 AND 64),
    CONSTRAINT endpoints_rate_sensible CHECK (max_per_second BETWEEN 1 AND 10000),
    CONSTRAINT endpoints_timeout_sensible CHECK (timeout_seconds BETWEEN 1 AND 60),
    -- resume_endpoint enables any of the others.
    CONSTRAINT endpoints_state_is_known CHECK (state IN ('enabled', 'paused', 'disabled', 'behind')),
    CONSTRAINT endpoints_why_not_enabled CHECK ((state = 'enabled') = (why IS NULL))
) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
COMMENT ON TABLE appstore.endpoints IS
    'Receivers of the feed by HTTP. A worker leases an endpoint: epoch is counted up, and a worker that returns with an older epoch is refused. '
    'The only index is the key, so that moving a cursor touches no index.';
COMMENT ON COLUMN appstore.endpoints.name IS 'A name of yours: lower-case letters, digits, and . _ -';
COMMENT ON COLUMN appstore.endpoints.endpoint_id IS 'What its secrets are derived from, with the master secret and secret_generation.';
COMMENT ON COLUMN appstore.endpoints.url IS 'Where to POST.';
COMMENT ON COLUMN appstore.endpoints.format IS 'event: entries as JSON; raw: the bodies of notifications as Apple sent them.';
COMMENT ON COLUMN appstore.endpoints.types IS 'Which types it gets, as in appstore.feed_wants; null: all but those for operators.';
COMMENT ON COLUMN appstore.endpoints.bundle_ids IS 'Of which apps; null: all.';
COMMENT ON COLUMN appstore.endpoints.environments IS 'Of which environments; null: both.';
COMMENT ON COLUMN appstore.endpoints.with_wrong_bundle IS 'raw: also notifications of apps that are not configured here.';
COMMENT ON COLUMN appstore.endpoints.keeps_order IS 'Whether entries of one subject are sent one at a time, in order.';
COMMENT ON COLUMN appstore.endpoints.max_in_flight IS 'How many requests at a time.';
COMMENT ON COLUMN appstore.endpoints.max_per_second IS 'How many requests in a second; null: any number.';
COMMENT ON COLUMN appstore.endpoints.timeout_seconds IS 'How long a request may take as a whole.';
COMMENT ON COLUMN appstore.endpoints.state IS
    'enabled; paused (by an operator); disabled (410, or five days of failures); behind (the next entry has aged).';
COMMENT ON COLUMN appstore.endpoints.why IS 'Why it is not enabled.';
COMMENT ON COLUMN appstore.endpoints.state_since IS 'Since when it has this state.';
COMMENT ON COLUMN appstore.endpoints.position IS
    'The cursor: each entry up to here is delivered, not wanted, or in open_deliveries. Later ones may be, too.';
COMMENT ON COLUMN appstore.endpoints.open_upto IS 'No later entry has or had a row in open_deliveries, so that its success need not look there.';
COMMENT ON COLUMN appstore.endpoints.due_from IS
    'No open delivery is due earlier. Dead index entries lie before it: they must not be read ten times a second while a snapshot is held. '
    'Each writer of open_deliveries.run_at locks the endpoint, and lowers this.';
COMMENT ON COLUMN appstore.endpoints.secret_generation IS 'Counted up by rotate_endpoint_secret.';
COMMENT ON COLUMN appstore.endpoints.rotated_at IS 'When that was; for 24 hours the previous secret signs, too.';
COMMENT ON COLUMN appstore.endpoints.created_at IS 'When it was made.';
COMMENT ON COLUMN appstore.endpoints.epoch IS
    'Counted up by each lease. It begins with the microseconds of now, so that no lease outlives an endpoint that is removed and made again.';
COMMENT ON COLUMN appstore.endpoints.leased_until IS 'Until when a worker has it; null: none.';
COMMENT ON COLUMN appstore.endpoints.failures IS 'How many attempts in a row failed.';
COMMENT ON COLUMN appstore.endpoints.failing_since IS 'Since when no attempt succeeded; null while it works.';
COMMENT ON COLUMN appstore.endpoints.open_until IS 'The breaker is open: only a probe is sent, at this time. Null: it is closed.';
COMMENT ON COLUMN appstore.endpoints.probes IS 'How many probes failed since the breaker opened.';
COMMENT ON COLUMN appstore.endpoints.succeeded_at IS 'When an attempt succeeded last.';
COMMENT ON COLUMN appstore.endpoints.last_error IS 'The error of the attempt that failed last.';

CREATE TABLE appstore.open_deliveries (
    endpoint        text        NOT NULL COLLATE "C" REFERENCES appstore.endpoints ON DELETE CASCADE,
    position        bigint      NOT NULL,
    subject         text        COLLATE "C",
    run_at          timestamptz NOT NULL,
    attempts        integer     NOT NULL,
    first_failed_at timestamptz,
    last_status     integer,
    last_error      text,
    given_up_at     timestamptz,
    PRIMARY KEY (endpoint, position),
    CONSTRAINT open_deliveries_failed_first CHECK (attempts = 0 OR first_failed_at IS NOT NULL)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE appstore.open_deliveries IS
    'The exceptions: entries that an endpoint did not take, that wait for an earlier one of their subject, or that were given up. A row goes when '
    'its entry is delivered.';
COMMENT ON COLUMN appstore.open_deliveries.endpoint IS 'The name of the endpoint.';
COMMENT ON COLUMN appstore.open_deliveries.position IS 'The entry.';
COMMENT ON COLUMN appstore.open_deliveries.subject IS 'The subject of the entry.';
COMMENT ON COLUMN appstore.open_deliveries.run_at IS
    'When it is due. infinity: when an earlier one that waits for the same subject is delivered. Of one that was given up, as it was.';
COMMENT ON COLUMN appstore.open_deliveries.attempts IS 'How many attempts count. None does where the receiver only asked to come later.';
COMMENT ON COLUMN appstore.open_deliveries.first_failed_at IS
    'When the endpoint first did not take it; null: it only waits. It holds later entries of its subject for ten minutes. Of a redelivery that '
    'failed, ten minutes earlier, so that it holds none.';
COMMENT ON COLUMN appstore.open_deliveries.last_status IS 'The HTTP status of the last attempt; null where there was no answer.';
COMMENT ON COLUMN appstore.open_deliveries.last_error IS 'The error of the last attempt; aged where the entry is gone.';
COMMENT ON COLUMN appstore.open_deliveries.given_up_at IS 'When it was given up; redeliver takes it up again.';
-- What is due. Rows that wait for another one are at the end.
CREATE INDEX open_deliveries_due ON appstore.open_deliveries (endpoint, run_at, position) WHERE given_up_at IS NULL;
-- The oldest one, and those whose entry is about to age.
CREATE INDEX open_deliveries_by_position ON appstore.open_deliveries (endpoint, position) WHERE given_up_at IS NULL;
CREATE INDEX open_deliveries_given_up ON appstore.open_deliveries (endpoint, position) WHERE given_up_at IS NOT NULL;
-- What holds an entry: an earlier one of its subject that waits, or that failed within ten minutes. By an expression, so that no statistics make
-- the planner read the other deliveries of the endpoint instead.
CREATE INDEX open_deliveries_waiting ON appstore.open_deliveries ((endpoint || ' ' || subject), position)
    WHERE given_up_at IS NULL AND first_failed_at IS NULL;
CREATE INDEX open_deliveries_failed ON appstore.open_deliveries ((endpoint || ' ' || subject), first_failed_at)
    WHERE given_up_at IS NULL AND first_failed_at IS NOT NULL;

CREATE TABLE appstore.redeliveries (
    redelivery_id bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint      text        NOT NULL COLLATE "C" REFERENCES appstore.endpoints ON DELETE CASCADE,
    after         bigint      NOT NULL,
    upto          bigint      NOT NULL,
    types         text[]      COLLATE "C",
    state         text        NOT NULL COLLATE "C" DEFAULT 'open',
    asked_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor         text        NOT NULL DEFAULT appstore.actor(),
    note          text,
    sent          bigint      NOT NULL DEFAULT 0,
    ended_at      timestamptz,
    CONSTRAINT redeliveries_state_is_known CHECK (state IN ('open', 'done', 'stopped', 'aged')),
    CONSTRAINT redeliveries_ended_in_the_end CHECK ((state = 'open') = (ended_at IS NULL))
);
COMMENT ON TABLE appstore.redeliveries IS 'Ranges of the feed that an endpoint gets again, beside what is new, one after the other.';
COMMENT ON COLUMN appstore.redeliveries.redelivery_id IS 'The number of the redelivery.';
COMMENT ON COLUMN appstore.redeliveries.endpoint IS 'The name of the endpoint.';
COMMENT ON COLUMN appstore.redeliveries.after IS 'Its cursor: what follows this position is sent next.';
COMMENT ON COLUMN appstore.redeliveries.upto IS 'The last position.';
COMMENT ON COLUMN appstore.redeliveries.types IS 'Only these types of those that the endpoint gets; null: all.';
COMMENT ON COLUMN appstore.redeliveries.state IS 'open; done; stopped (by an operator); aged (what was next is gone).';
COMMENT ON COLUMN appstore.redeliveries.asked_at IS 'When it was asked for.';
COMMENT ON COLUMN appstore.redeliveries.actor IS 'The login that asked for it.';
COMMENT ON COLUMN appstore.redeliveries.note IS 'Free text of the actor, as in audit_log.';
COMMENT ON COLUMN appstore.redeliveries.sent IS 'How many attempts it made.';
COMMENT ON COLUMN appstore.redeliveries.ended_at IS 'When it was no longer open.';
CREATE INDEX redeliveries_open ON appstore.redeliveries (endpoint, redelivery_id) WHERE state = 'open';

CREATE TABLE appstore.delivery_attempts (
    attempt_id    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint      text        NOT NULL COLLATE "C",
    position      bigint      NOT NULL,
    subject       text        COLLATE "C",
    at            timestamptz NOT NULL,
    is_redelivery boolean     NOT NULL,
    result        text        NOT NULL COLLATE "C",
    status        integer,
    milliseconds  integer,
    answer_bytes  bigint,
    answer        text,
    error         text,
    CONSTRAINT delivery_attempts_result_is_known CHECK (
        result IN ('delivered', 'failed', 'refused', 'later', 'probe_failed', 'given_up')),
    CONSTRAINT delivery_attempts_answer_is_short CHECK (char_length(answer) <= 4096)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE appstore.delivery_attempts IS
    'What became of each attempt to deliver an entry. Never the request. Kept as retention.deliveries and retention.failed_deliveries say.';
COMMENT ON COLUMN appstore.delivery_attempts.attempt_id IS 'The number of the attempt.';
COMMENT ON COLUMN appstore.delivery_attempts.endpoint IS 'The name of the endpoint.';
COMMENT ON COLUMN appstore.delivery_attempts.position IS 'The entry.';
COMMENT ON COLUMN appstore.delivery_attempts.subject IS 'The subject of the entry.';
COMMENT ON COLUMN appstore.delivery_attempts.at IS 'When it was reported.';
COMMENT ON COLUMN appstore.delivery_attempts.is_redelivery IS 'Whether it is part of a redelivery.';
COMMENT ON COLUMN appstore.delivery_attempts.result IS
    'delivered; failed; refused (by us: address, TLS, configuration); later (the receiver said when to come again); probe_failed (the '
    'breaker is open: counts no attempt); given_up.';
COMMENT ON COLUMN appstore.delivery_attempts.status IS 'The HTTP status; null where there was no answer.';
COMMENT ON COLUMN appstore.delivery_attempts.milliseconds IS 'How long it took.';
COMMENT ON COLUMN appstore.delivery_attempts.answer_bytes IS 'Length of the answer, as far as it was read.';
COMMENT ON COLUMN appstore.delivery_attempts.answer IS
    'The begin of the answer, of failures and tests only. appstore.forget deletes it where the entry is about the user.';
COMMENT ON COLUMN appstore.delivery_attempts.error IS 'What failed.';
-- The latest attempts of an endpoint.
CREATE INDEX delivery_attempts_by_endpoint ON appstore.delivery_attempts (endpoint, attempt_id);
-- appstore.forget
CREATE INDEX delivery_attempts_about ON appstore.delivery_attempts (subject) WHERE answer IS NOT NULL AND subject IS NOT NULL;
