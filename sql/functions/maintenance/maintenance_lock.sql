CREATE OR REPLACE FUNCTION appstore.maintenance_lock(task text DEFAULT 'maintenance_lock') RETURNS boolean
LANGUAGE sql VOLATILE AS $$ SELECT pg_try_advisory_xact_lock(hashtextextended('appstore.' || task, 0)) $$;
COMMENT ON FUNCTION appstore.maintenance_lock IS
    'Whether this transaction may do maintenance, one at a time in the database. False while another one does; then the caller returns nothing. '
    'A task with a deadline has a lock of its own, since a partition can take an hour to check.';
