-- Makes the users of a chunk of an import owners.
-- A worker that has keys sends it until it returns false.
-- Returns one row: whether a chunk was due.
SELECT appstore.link_import_owners() AS did;
