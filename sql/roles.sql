-- The roles of appstore-inbox, for one cluster. Safe to run again; `appstore-inbox migrate` runs it when its own role may create roles.
--
--   appstore_owner     owns schema appstore; cannot log in: migrate acts as it by SET ROLE
--   appstore_ingest    may store bodies: EXECUTE appstore.receive
--   appstore_worker    claims, merges, settles; never changes or deletes a body
--   appstore_operator  reads what the viewer does, repairs through functions
--   appstore_viewer    reads the books, the queue and the history of repairs: no body, no hash of a key
--   appstore_backend   the shop's own backend by SQL: makes orders, links and unlinks owners, says that it answered Apple; reads views
--   appstore_reporter  reads the reports, schema appstore_reports, and nothing else
--   appstore_api       the HTTP API for the shop's own backend: EXECUTE the functions that its routes need
--   appstore_console   the console: begins, finds and ends the sessions of people, then acts as viewer, operator or bodies by SET LOCAL ROLE
--   appstore_bodies    may show the body of an event, with a reason; cannot log in: grant it to people
--
-- All others may log in but have no password: pg_hba.conf decides how (peer with a map is what the README shows).
DO $roles$
DECLARE
    logins CONSTANT text[] := ARRAY['appstore_ingest', 'appstore_worker', 'appstore_operator', 'appstore_viewer', 'appstore_backend',
                                    'appstore_reporter', 'appstore_api', 'appstore_console'];
    wanted text;
    lacking text;
BEGIN
    FOREACH wanted IN ARRAY logins || ARRAY['appstore_owner', 'appstore_bodies'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted);
        BEGIN
            EXECUTE format('CREATE ROLE %I %s', wanted, CASE WHEN wanted IN ('appstore_owner', 'appstore_bodies') THEN 'NOLOGIN'
                                                              WHEN wanted = 'appstore_console' THEN 'LOGIN NOINHERIT' ELSE 'LOGIN' END);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- another run of this file in the same cluster created it first
        END;
    END LOOP;

    IF has_database_privilege(current_database(), 'CREATE WITH GRANT OPTION') AND has_database_privilege(current_database(), 'CONNECT WITH GRANT OPTION')
    THEN
        EXECUTE format('GRANT CONNECT, CREATE ON DATABASE %I TO appstore_owner', current_database());
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %s', current_database(), array_to_string(logins, ', '));
    ELSE
        -- GRANT by a role that may only connect warns, and gives nothing.
        SELECT string_agg(format('GRANT %s ON DATABASE %I TO %I', n.privilege, current_database(), n.role_name), '; ') INTO lacking
        FROM (SELECT 'CREATE', 'appstore_owner' UNION ALL SELECT 'CONNECT', unnest(logins || 'appstore_owner'::text)) AS n (privilege, role_name)
        WHERE NOT has_database_privilege(n.role_name, current_database(), n.privilege);
        IF lacking IS NOT NULL THEN
            RAISE insufficient_privilege USING MESSAGE = format(
                '%I may not let roles use the database %I: as its owner or as a superuser, run sql/roles.sql in it, or %s',
                current_user, current_database(), lacking);
        END IF;
    END IF;

    -- PUBLIC may make temporary tables, and so the login roles, which need none. In a database with other tables that is theirs to decide.
    IF pg_has_role((SELECT d.datdba FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()), 'USAGE')
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                   WHERE c.relkind IN ('r', 'p', 'f', 'm', 'v') AND n.nspname NOT IN ('appstore', 'appstore_reports', 'pg_catalog',
                                                                                   'information_schema')
                     AND n.nspname !~ '^pg_(toast|temp)'
                     AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS d WHERE d.objid = c.oid AND d.deptype = 'e')) THEN
        EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    END IF;

    -- Who runs this and is not a superuser must be able to act as the owner by SET ROLE. Since PostgreSQL 16 the role that made the owner is its
    -- member without that right, and may grant it to itself.
    IF NOT pg_has_role(current_user, 'appstore_owner',
                       CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
        EXECUTE format('GRANT appstore_owner TO %I', current_user);
    END IF;

    -- Without INHERIT the console has the rights of these only in the transactions that take them. Since PostgreSQL 16 each grant keeps what
    -- the role had when it was made.
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'appstore_console' AND rolinherit) THEN
        ALTER ROLE appstore_console NOINHERIT;
    END IF;
    FOREACH wanted IN ARRAY ARRAY['appstore_viewer', 'appstore_operator', 'appstore_bodies'] LOOP
        IF pg_has_role('appstore_console', wanted, 'USAGE') THEN
            EXECUTE format('REVOKE %I FROM appstore_console', wanted);
        END IF;
        CONTINUE WHEN pg_has_role('appstore_console', wanted, 'MEMBER');
        EXECUTE format('GRANT %I TO appstore_console', wanted);
    END LOOP;
END
$roles$;

-- appstore.inbox_statistics() runs as the owner and reports the oldest snapshot of all sessions, which keeps vacuum from removing dead rows.
-- Without this grant it sees only sessions of the owner; everything else works.
DO $statistics$
BEGIN
    GRANT pg_read_all_stats TO appstore_owner;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'appstore.inbox_statistics() will see only sessions of appstore_owner: %', SQLERRM;
END
$statistics$;

-- Timeouts, isolation and planner settings belong to the role, not to the session, so that a connection pool in between changes nothing.
-- They apply to a login as the role. Where one login acts as several roles, the programs read them from here: adopt_role_settings.sql.
-- A setting is written only where it differs: two runs at once would collide on the catalogue's row.
DO $timeouts$
DECLARE
    entry record;
BEGIN
    FOR entry IN
        SELECT * FROM (VALUES
            -- After a lock the functions must read rows committed meanwhile, whatever the database's default is.
            ('appstore_ingest',   'default_transaction_isolation',       'read committed'),
            ('appstore_worker',   'default_transaction_isolation',       'read committed'),
            ('appstore_operator', 'default_transaction_isolation',       'read committed'),
            ('appstore_backend',  'default_transaction_isolation',       'read committed'),
            ('appstore_api',      'default_transaction_isolation',       'read committed'),
            ('appstore_ingest',   'statement_timeout',                   '5s'),
            ('appstore_ingest',   'lock_timeout',                        '2s'),
            ('appstore_ingest',   'idle_in_transaction_session_timeout', '5s'),
            ('appstore_worker',   'statement_timeout',                   '30s'),
            -- A longer wait for a lock would hold up the whole batch: it is repeated later, and no attempt counts.
            ('appstore_worker',   'lock_timeout',                        '2s'),
            ('appstore_worker',   'idle_in_transaction_session_timeout', '60s'),
            -- Otherwise a worker whose machine disappears while the server sends it bodies keeps their events locked for a quarter of an hour.
            ('appstore_worker',   'tcp_user_timeout',                    '30s'),
            -- The worker looks up keys with cached plans, which must not be made for the few rows of the first minute.
            ('appstore_worker',   'plan_cache_mode',                     'force_generic_plan'),
            ('appstore_worker',   'enable_seqscan',                      'off'),
            ('appstore_operator', 'statement_timeout',                   '60s'),
            ('appstore_operator', 'lock_timeout',                        '5s'),
            ('appstore_operator', 'idle_in_transaction_session_timeout', '60s'),
            ('appstore_viewer',   'statement_timeout',                   '30s'),
            ('appstore_viewer',   'idle_in_transaction_session_timeout', '60s'),
            ('appstore_viewer',   'default_transaction_read_only',       'on'),
            ('appstore_backend',  'statement_timeout',                   '5s'),
            ('appstore_backend',  'lock_timeout',                        '2s'),
            ('appstore_backend',  'idle_in_transaction_session_timeout', '5s'),
            -- These queries join a few tables: a plan cached in the first minute would read whole tables later.
            ('appstore_backend',  'plan_cache_mode',                     'force_custom_plan'),
            ('appstore_reporter', 'statement_timeout',                   '5min'),
            ('appstore_reporter', 'idle_in_transaction_session_timeout', '60s'),
            ('appstore_reporter', 'default_transaction_read_only',       'on'),
            ('appstore_api',      'statement_timeout',                   '5s'),
            ('appstore_api',      'lock_timeout',                        '2s'),
            ('appstore_api',      'idle_in_transaction_session_timeout', '5s'),
            ('appstore_api',      'plan_cache_mode',                     'force_custom_plan'),
            ('appstore_console',  'default_transaction_isolation',       'read committed'),
            -- A person waits for the page.
            ('appstore_console',  'statement_timeout',                   '5s'),
            ('appstore_console',  'lock_timeout',                        '2s'),
            ('appstore_console',  'idle_in_transaction_session_timeout', '10s'),
            ('appstore_console',  'plan_cache_mode',                     'force_custom_plan'),
            -- While a table has no statistics, a bitmap of a whole environment seems as cheap as a look-up.
            ('appstore_console',  'enable_bitmapscan',                   'off')
        ) AS setting (role_name, parameter, value)
        UNION ALL
        -- The planner's estimates for these statements are far above what they read: compiling one takes longer than running it.
        SELECT role_name, 'jit', 'off'
        FROM unnest(ARRAY['appstore_ingest', 'appstore_worker', 'appstore_operator', 'appstore_viewer', 'appstore_backend',
                          'appstore_reporter', 'appstore_api', 'appstore_console']) AS role_name
    LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_db_role_setting AS s
            JOIN pg_catalog.pg_roles AS r ON r.oid = s.setrole
            WHERE s.setdatabase = 0 AND r.rolname = entry.role_name
              AND entry.parameter || '=' || entry.value = ANY (s.setconfig));
        EXECUTE format('ALTER ROLE %I SET %I = %L', entry.role_name, entry.parameter, entry.value);
    END LOOP;
END
$timeouts$;

-- Errors of constraints print the failing row, with user ids and the head of a body, into PostgreSQL's own log; terse drops that.
-- Only a superuser may set this for the roles. The privilege lets a program set it for itself where another login acts as the role.
DO $verbosity$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['appstore_ingest', 'appstore_worker', 'appstore_operator', 'appstore_viewer', 'appstore_backend',
                                  'appstore_reporter', 'appstore_api', 'appstore_console'] LOOP
        IF NOT has_parameter_privilege(wanted, 'log_error_verbosity', 'SET') THEN
            EXECUTE format('GRANT SET ON PARAMETER log_error_verbosity TO %I', wanted);
        END IF;
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_db_role_setting AS s
            JOIN pg_catalog.pg_roles AS r ON r.oid = s.setrole
            WHERE s.setdatabase = 0 AND r.rolname = wanted AND 'log_error_verbosity=terse' = ANY (s.setconfig));
        EXECUTE format('ALTER ROLE %I SET log_error_verbosity = terse', wanted);
    END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'as a superuser, GRANT SET ON PARAMETER log_error_verbosity to the appstore roles and set it to terse for them, or constraint '
                 'errors print personal data into the server''s log: %', SQLERRM;
END
$verbosity$;
