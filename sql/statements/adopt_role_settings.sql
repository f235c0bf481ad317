-- Gives a session the settings that ALTER ROLE gave to the role as which a program acts. PostgreSQL applies them to a login as the role, not
-- to SET ROLE, and not to a login that is only a member of it.
-- A program sends it once in each new connection, but not through a pooler: there the session is not the program's.
-- Settings of the login itself or of the connection string stay as they are. :role is a role of roles.sql, which defines the values.
-- Returns a row for each setting that changed.
SELECT set_config(wanted.name, wanted.value, false) AS value
FROM (
    SELECT s.name, substr(entry.setting, strpos(entry.setting, '=') + 1) AS value
    FROM pg_catalog.pg_roles AS r
    JOIN pg_catalog.pg_db_role_setting AS d ON d.setrole = r.oid
    CROSS JOIN LATERAL unnest(d.setconfig) AS entry (setting)
    JOIN pg_catalog.pg_settings AS s ON s.name = split_part(entry.setting, '=', 1)
    WHERE r.rolname = :role::text AND session_user <> :role::text
      AND d.setdatabase IN (0, (SELECT b.oid FROM pg_catalog.pg_database AS b WHERE b.datname = current_database()))
      AND s.source NOT IN ('user', 'database user', 'client', 'session')
      AND (s.context = 'user' OR has_parameter_privilege(s.name, 'SET'))
    ORDER BY d.setdatabase -- settings for this database come last and so override
    OFFSET 0
) AS wanted;
