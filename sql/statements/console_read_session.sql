-- Reads who uses the console with a session.
-- The console sends it first in the transaction of each request, as appstore_console.
-- Returns one row, or none when the session is unknown or has ended.
SELECT person, role, shows_bodies FROM appstore.console_session(:session_hash::bytea);
