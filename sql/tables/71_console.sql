-- Who uses the console. It has no passwords: a person proves to be one by logging in to this database.

CREATE TABLE appstore.console_logins (
    token_hash   bytea       NOT NULL PRIMARY KEY,
    person       text        NOT NULL,
    role         text        NOT NULL COLLATE "C",
    shows_bodies boolean     NOT NULL,
    expires_at   timestamptz NOT NULL,
    CONSTRAINT console_logins_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
    CONSTRAINT console_logins_role_known CHECK (role IN ('viewer', 'operator'))
);
COMMENT ON TABLE appstore.console_logins IS 'The links of `appstore-inbox console login` that are not used yet. Each works once, for 60 seconds.';
COMMENT ON COLUMN appstore.console_logins.token_hash IS 'The SHA-256 of the token in the link.';
COMMENT ON COLUMN appstore.console_logins.person IS 'The login that made the link.';
COMMENT ON COLUMN appstore.console_logins.role IS 'What that login may do: viewer or operator.';
COMMENT ON COLUMN appstore.console_logins.shows_bodies IS 'Whether the login is a member of appstore_bodies.';
COMMENT ON COLUMN appstore.console_logins.expires_at IS 'When the link stops working.';

CREATE TABLE appstore.console_sessions (
    session_id   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_hash bytea       NOT NULL,
    person       text        NOT NULL,
    role         text        NOT NULL COLLATE "C",
    shows_bodies boolean     NOT NULL,
    began_at     timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    ended_by     text,
    CONSTRAINT console_sessions_hash_is_sha256 CHECK (octet_length(session_hash) = 32),
    CONSTRAINT console_sessions_role_known CHECK (role IN ('viewer', 'operator')),
    CONSTRAINT console_sessions_ended_by CHECK ((ended_at IS NULL) = (ended_by IS NULL))
);
COMMENT ON TABLE appstore.console_sessions IS 'The sessions of the console, for 30 days after their end.';
COMMENT ON COLUMN appstore.console_sessions.session_id IS 'The number by which appstore.end_console_session ends it.';
COMMENT ON COLUMN appstore.console_sessions.session_hash IS 'The SHA-256 of the secret in the browser''s cookie.';
COMMENT ON COLUMN appstore.console_sessions.person IS 'The login that made the link; the audit names it as the actor.';
COMMENT ON COLUMN appstore.console_sessions.role IS 'viewer or operator. The session ends when the person loses the role.';
COMMENT ON COLUMN appstore.console_sessions.shows_bodies IS 'Whether the person may ask for the body of an event.';
COMMENT ON COLUMN appstore.console_sessions.began_at IS 'When the link was used.';
COMMENT ON COLUMN appstore.console_sessions.expires_at IS 'When it ends by itself: twelve hours after its beginning.';
COMMENT ON COLUMN appstore.console_sessions.ended_at IS 'When it was ended before that.';
COMMENT ON COLUMN appstore.console_sessions.ended_by IS 'Who ended it.';
-- A request is for the session of its cookie.
CREATE UNIQUE INDEX console_sessions_by_hash ON appstore.console_sessions (session_hash);
