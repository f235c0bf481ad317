-- Reads the server's time and a privilege, on which the other statements of an explanation depend.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns the server's time, and whether the role may read the audit log.
SELECT clock_timestamp() AS now, has_table_privilege('appstore.audit_log', 'SELECT') AS reads_audit;
