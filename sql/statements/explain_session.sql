-- Finds out whether the role may read bodies, on which the rest of an explanation depends.
-- appstore-inbox explain sends it first.
-- Returns one row.
SELECT has_column_privilege('appstore.inbox', 'body', 'SELECT') AS reads_bodies;
