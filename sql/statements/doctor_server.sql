-- Reads what the promises need of the server and the database, and the server's clock. Every role may read it.
-- appstore-inbox doctor sends it first.
-- Returns one row.
SELECT current_setting('server_version') AS version, current_setting('server_version_num')::integer AS version_number,
       current_database()::text AS database, current_user::text AS role, pg_encoding_to_char(d.encoding)::text AS encoding,
       pg_is_in_recovery() AS is_standby, current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes, extract(epoch FROM clock_timestamp())::double precision AS clock
FROM pg_catalog.pg_database AS d
WHERE d.datname = current_database();
