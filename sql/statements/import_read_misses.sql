-- Reads the items of an import that brought nothing, or no owner.
-- appstore-inbox import misses sends it, as appstore_viewer or appstore_operator, until it returns no row.
-- Returns a row for each of the next 5,000, by line.
SELECT m.line, m.id, m.user_id, m.environment::text, m.why, m.asked::integer
FROM appstore.import_misses AS m
WHERE m.import_id = :import_id::integer AND m.line > :after::integer
ORDER BY m.line
LIMIT 5000;
