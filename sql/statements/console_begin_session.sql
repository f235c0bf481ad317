-- Begins a session of the console with the token of a link, which works once.
-- The console sends it when a person logs in, as appstore_console.
-- Returns one row, or none when the link does not work.
SELECT person, role, shows_bodies FROM appstore.begin_console_session(:token_hash::bytea, :session_hash::bytea);
