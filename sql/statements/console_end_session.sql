-- Ends a session of the console.
-- The console sends it for an operator.
-- Returns one row: whether there was such a session that lived.
SELECT appstore.end_console_session(:session_id::bigint) AS ended;
