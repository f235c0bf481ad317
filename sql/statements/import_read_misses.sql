-- Reads the items of an import that brought nothing, or no owner, and the lines whose token was refused.
-- appstore-inbox import misses sends it, as appstore_viewer or appstore_operator, for the next lines until the last one.
-- Returns a row for each of the next 20,000 lines that is one: a page costs the same, however few there are.
SELECT m.line, m.id, m.user_id, m.environment::text, m.why, m.asked::integer, m.token
FROM appstore.import_misses AS m
WHERE m.import_id = :import_id::integer AND m.line > :after::integer AND m.line <= :after::integer::bigint + 20000
ORDER BY m.line;
