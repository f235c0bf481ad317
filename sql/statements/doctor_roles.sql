-- Reads of each role whether it can be used, its settings in this database, what it may execute, and its sessions. Every role may read it.
-- appstore-inbox doctor sends it. Each of :roles needs the function of the schema at its place in :functions; :programs are the
-- application names of its sessions.
-- Returns a row for each of :roles, in their order.
SELECT w.role, r.oid IS NOT NULL AS is_there, coalesce(r.rolsuper, false) AS is_superuser,
       coalesce(r.rolcanlogin, false) OR EXISTS (SELECT FROM pg_catalog.pg_auth_members AS m WHERE m.roleid = r.oid) AS is_usable,
       coalesce(has_schema_privilege(r.oid, n.oid, 'USAGE'), false)
       AND coalesce((SELECT bool_or(has_function_privilege(r.oid, p.oid, 'EXECUTE')) FROM pg_catalog.pg_proc AS p
                     WHERE p.pronamespace = n.oid AND p.proname = w.function), false) AS may_execute,
       -- Settings for this database override those for all.
       array(SELECT DISTINCT ON (split_part(entry.setting, '=', 1)) entry.setting
             FROM pg_catalog.pg_db_role_setting AS s CROSS JOIN LATERAL unnest(s.setconfig) AS entry (setting)
             WHERE s.setrole = r.oid
               AND s.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
             ORDER BY split_part(entry.setting, '=', 1), s.setdatabase DESC) AS settings,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
          AND (a.usename = w.role OR a.application_name = w.program)) AS sessions
FROM unnest(:roles::text[], :functions::text[], :programs::text[]) WITH ORDINALITY AS w (role, function, program, position)
LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = w.role
LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'appstore'
ORDER BY w.position;
