-- Begins to load a file into an import, or finds the import that it belongs to.
-- appstore-inbox import new sends it as appstore_operator.
-- Returns one row: the import, and whether it is new.
--
-- :file_sha256   null where only the end of the file tells
SELECT b.import_id, b.is_new
FROM appstore.begin_import(:bundle_id::text, :environment::appstore.environment, :depth::text, :file_name::text, :file_sha256::bytea,
                           :again::boolean) AS b;
