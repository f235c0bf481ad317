-- Stores the hash of a token with which the person who is connected can begin a session of the console.
-- appstore-inbox console login sends it, as a member of appstore_viewer or appstore_operator.
-- Returns one row: the person and the role.
SELECT person, role FROM appstore.make_console_login(:token_hash::bytea);
