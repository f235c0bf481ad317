-- Apple's notification history: how far it was read, and what it listed. The same inbox takes what was never pushed here.

CREATE TABLE appstore.history_cursors (
    bundle_id    text        NOT NULL COLLATE "C",
    environment  appstore.environment NOT NULL,
    mode         text        NOT NULL COLLATE "C" DEFAULT 'walk',
    walks_since  timestamptz NOT NULL DEFAULT clock_timestamp(),
    since        timestamptz NOT NULL,
    anchor       timestamptz NOT NULL,
    near_until   timestamptz NOT NULL,
    second_until timestamptz NOT NULL,
    overlap      interval    NOT NULL DEFAULT '1 hour',
    edge         timestamptz,
    covered      tstzmultirange NOT NULL DEFAULT '{}',
    PRIMARY KEY (bundle_id, environment),
    -- Each mode can become any other.
    CONSTRAINT history_cursors_mode_is_known CHECK (mode IN ('walk', 'beside', 'off')),
    CONSTRAINT history_cursors_overlap_sensible CHECK (overlap BETWEEN interval '1 hour' AND interval '1 day')
);
COMMENT ON TABLE appstore.history_cursors IS
    'How far Apple''s notification history was read, of each app and environment whose key a worker has had.';
COMMENT ON COLUMN appstore.history_cursors.mode IS
    'walk; beside: another service owns the URL, so that a notification that was delivered elsewhere is normal; off: nothing is asked.';
COMMENT ON COLUMN appstore.history_cursors.walks_since IS
    'When the mode became walk, or the row was made. Another server may have taken what was signed before.';
COMMENT ON COLUMN appstore.history_cursors.since IS 'From when on windows were made.';
COMMENT ON COLUMN appstore.history_cursors.anchor IS 'When reading began: the coverage without a hole extends from here in both directions.';
COMMENT ON COLUMN appstore.history_cursors.near_until IS 'The end of the newest window.';
COMMENT ON COLUMN appstore.history_cursors.second_until IS 'The end of the last day that was given a second walk.';
COMMENT ON COLUMN appstore.history_cursors.overlap IS
    'How much of the time before it a new window reads again. It doubles, up to a day, when a second walk finds what the first one did not list.';
COMMENT ON COLUMN appstore.history_cursors.edge IS 'Apple refused an earlier start as too far in the past; null while it has refused none.';
COMMENT ON COLUMN appstore.history_cursors.covered IS 'The time that was read completely, by windows with all their pages.';

CREATE TABLE appstore.history_windows (
    window_id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id         text        NOT NULL COLLATE "C",
    environment       appstore.environment NOT NULL,
    kind              text        NOT NULL COLLATE "C",
    starts_at         timestamptz NOT NULL,
    ends_at           timestamptz NOT NULL,
    made_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    state             text        NOT NULL COLLATE "C" DEFAULT 'open',
    run_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_leased         boolean     NOT NULL DEFAULT false,
    epoch             bigint      NOT NULL DEFAULT 0,
    token             text,
    is_read           boolean     NOT NULL DEFAULT false,
    pages             integer     NOT NULL DEFAULT 0,
    listed            integer     NOT NULL DEFAULT 0,
    stored            integer     NOT NULL DEFAULT 0,
    restarts          integer     NOT NULL DEFAULT 0,
    failures          integer     NOT NULL DEFAULT 0,
    failing_since     timestamptz,
    last_error        text,
    compared_to       timestamptz,
    compared_event    bigint,
    first_signed_at   timestamptz,
    last_signed_at    timestamptz,
    first_attempt_at  timestamptz,
    last_attempt_at   timestamptz,
    closed_at         timestamptz,
    CONSTRAINT history_windows_kind_is_known CHECK (kind IN ('near', 'day', 'second')),
    -- open can become done or too_old, which are final.
    CONSTRAINT history_windows_state_is_known CHECK (state IN ('open', 'done', 'too_old')),
    CONSTRAINT history_windows_closed_in_the_end CHECK ((state = 'open') = (closed_at IS NULL) AND (state = 'open' OR NOT is_leased)),
    CONSTRAINT history_windows_is_a_range CHECK (starts_at < ends_at OR state = 'too_old'),
    CONSTRAINT history_windows_failing_in_the_open CHECK (failing_since IS NULL OR state = 'open'),
    -- It goes into a URL.
    CONSTRAINT history_windows_token_is_short CHECK (octet_length(token) BETWEEN 1 AND 2048)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.history_windows IS
    'The windows in which the history is read: starts_at is part of it, ends_at is not. Both are in the past and do not change, since Apple takes a '
    'token only with the same request. A worker leases a window as it leases a call; a worker with an older epoch changes nothing.';
COMMENT ON COLUMN appstore.history_windows.window_id IS 'The number of the window.';
COMMENT ON COLUMN appstore.history_windows.kind IS
    'near: a quarter of an hour with an overlap, or what a pause left; day: a day of the past; second: the second walk of a day, after eight days.';
COMMENT ON COLUMN appstore.history_windows.starts_at IS 'Its start; an hour later after each time that Apple called it too old.';
COMMENT ON COLUMN appstore.history_windows.ends_at IS 'Its end; earlier after it was halved, since its tokens expired too often.';
COMMENT ON COLUMN appstore.history_windows.made_at IS 'When it was written.';
COMMENT ON COLUMN appstore.history_windows.state IS 'open; done: all pages were read; too_old: Apple no longer keeps any of it.';
COMMENT ON COLUMN appstore.history_windows.run_at IS 'When it is due: at once, at the end of a lease or of its back-off.';
COMMENT ON COLUMN appstore.history_windows.is_leased IS 'Whether a worker reads it until run_at.';
COMMENT ON COLUMN appstore.history_windows.epoch IS 'Number of leases so far.';
COMMENT ON COLUMN appstore.history_windows.token IS 'The paginationToken of the next page; null for the first one.';
COMMENT ON COLUMN appstore.history_windows.is_read IS 'All pages of a second walk were read; what was pushed is compared with them.';
COMMENT ON COLUMN appstore.history_windows.pages IS 'Pages since the first one was read last.';
COMMENT ON COLUMN appstore.history_windows.listed IS 'Records on these pages.';
COMMENT ON COLUMN appstore.history_windows.stored IS 'Records that became an event. Of a second walk: what Apple did not list at the first one.';
COMMENT ON COLUMN appstore.history_windows.restarts IS 'How often its token was refused since it was made or halved.';
COMMENT ON COLUMN appstore.history_windows.failures IS 'Failed attempts since the last page.';
COMMENT ON COLUMN appstore.history_windows.failing_since IS 'The first of these failures.';
COMMENT ON COLUMN appstore.history_windows.last_error IS 'Why the latest attempt brought no page; null after a page.';
COMMENT ON COLUMN appstore.history_windows.compared_to IS 'Outcomes until here, and compared_event of that instant, were compared.';
COMMENT ON COLUMN appstore.history_windows.compared_event IS 'The last event that was compared.';
COMMENT ON COLUMN appstore.history_windows.first_signed_at IS
    'The least signedDate of its records. This column and the following ones tell by which date Apple filters.';
COMMENT ON COLUMN appstore.history_windows.last_signed_at IS 'The greatest signedDate.';
COMMENT ON COLUMN appstore.history_windows.first_attempt_at IS 'The least first attempt.';
COMMENT ON COLUMN appstore.history_windows.last_attempt_at IS 'The greatest first attempt.';
COMMENT ON COLUMN appstore.history_windows.closed_at IS 'When it was done or too old.';
-- The open windows of an app: few.
CREATE INDEX history_windows_open ON appstore.history_windows (bundle_id, environment, ends_at) WHERE state = 'open';
-- For retention.
CREATE INDEX history_windows_closed ON appstore.history_windows (closed_at) WHERE state <> 'open';

CREATE TABLE appstore.history_records (
    environment       appstore.environment NOT NULL,
    notification_uuid uuid        NOT NULL,
    bundle_id         text        NOT NULL COLLATE "C",
    class             text        NOT NULL COLLATE "C",
    is_open           boolean     NOT NULL,
    mode              text        NOT NULL COLLATE "C",
    event_id          bigint,
    window_id         bigint      NOT NULL,
    listed_at         timestamptz NOT NULL,
    signed_at         timestamptz,
    first_attempt_at  timestamptz,
    last_attempt_at   timestamptz,
    attempts          integer     NOT NULL,
    last_result       text        COLLATE "C",
    PRIMARY KEY (notification_uuid, environment),
    CONSTRAINT history_records_class_is_known CHECK (
        class IN ('confirmed', 'in_flight', 'recovered', 'taken_elsewhere', 'refused_here', 'unlisted')),
    CONSTRAINT history_records_open_for_an_event CHECK (NOT is_open OR event_id IS NOT NULL),
    CONSTRAINT history_records_mode_is_known CHECK (mode IN ('walk', 'beside'))
) WITH (autovacuum_vacuum_scale_factor = 0.02);
COMMENT ON TABLE appstore.history_records IS
    'Each notification that Apple listed, and those that were pushed and not listed. They are kept for a time, then only counted in history_counts.';
COMMENT ON COLUMN appstore.history_records.class IS
    'confirmed: pushed and listed. recovered: not pushed, Apple''s attempts failed. taken_elsewhere: another server answered Apple with 200. '
    'in_flight: listed within a minute after an attempt. refused_here: its event was rejected or failed. unlisted: pushed, and absent from both walks.';
COMMENT ON COLUMN appstore.history_records.is_open IS 'The class can change: its event has no outcome yet, or the attempt may go on.';
COMMENT ON COLUMN appstore.history_records.mode IS
    'walk; beside: another server may have taken it, since the mode was beside or it was signed before the mode became walk.';
COMMENT ON COLUMN appstore.history_records.event_id IS 'The event that it became; of an unlisted one the push. null where it had been pushed before.';
COMMENT ON COLUMN appstore.history_records.window_id IS 'The window that listed it first.';
COMMENT ON COLUMN appstore.history_records.listed_at IS 'When it was read, by this database''s clock.';
COMMENT ON COLUMN appstore.history_records.signed_at IS 'signedDate, as it was listed; not verified.';
COMMENT ON COLUMN appstore.history_records.first_attempt_at IS 'Apple''s first attempt.';
COMMENT ON COLUMN appstore.history_records.last_attempt_at IS 'Apple''s latest attempt when it was listed.';
COMMENT ON COLUMN appstore.history_records.attempts IS 'Apple''s attempts when it was listed.';
COMMENT ON COLUMN appstore.history_records.last_result IS 'sendAttemptResult of the latest attempt, such as SUCCESS or TIMED_OUT.';
-- The records that wait for the outcome of their event, in the order in which outcomes come.
CREATE INDEX history_records_open ON appstore.history_records (event_id) WHERE is_open;
-- For retention. Rows arrive in this order, so that only the last page of the index is written.
CREATE INDEX history_records_by_time ON appstore.history_records (listed_at);

CREATE TABLE appstore.history_counts (
    bundle_id   text   NOT NULL COLLATE "C",
    environment appstore.environment NOT NULL,
    mode        text   NOT NULL COLLATE "C",
    class       text   NOT NULL COLLATE "C",
    records     bigint NOT NULL,
    PRIMARY KEY (bundle_id, environment, mode, class)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE appstore.history_counts IS 'How many records got each class, each counted once when its class was certain; also those that have aged.';
COMMENT ON COLUMN appstore.history_counts.mode IS 'As that of history_records.';
COMMENT ON COLUMN appstore.history_counts.class IS 'As that of history_records.';
COMMENT ON COLUMN appstore.history_counts.records IS 'How many.';
