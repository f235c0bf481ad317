-- Reads the body of an event, and writes to the audit log who has read it, and why.
-- The console sends it as appstore_bodies.
-- Returns one row; an event that is unknown, or whose body was deleted, is an error.
SELECT appstore.show_body(:event_id::bigint, :note::text) AS body;
