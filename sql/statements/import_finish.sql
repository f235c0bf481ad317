-- Lets the workers begin with a file that is loaded.
-- appstore-inbox import new sends it as appstore_operator at the end of the file.
-- Returns one row: the import, another one where the file was imported before; null where there are no items.
SELECT appstore.finish_import(:import_id::integer, :file_sha256::bytea, :bad_lines::integer, :again::boolean) AS import_id;
