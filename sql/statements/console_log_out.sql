-- Ends the session of a cookie.
-- The console sends it when a person logs out, as appstore_console.
-- Returns one row without columns.
SELECT FROM appstore.log_out_of_console(:session_hash::bytea);
