-- Stores Apple's answer about an item of an import, and settles the items that it is about.
-- The worker that leases the chunk sends it, in a transaction of its own.
-- Returns one row: more, settled or stop; null when another lease has begun.
SELECT appstore.settle_import_item(
    :import_id::integer, :first_line::integer, :epoch::bigint, :line::integer, :bodies::bytea[], :contracts::text[], :revision::text,
    :has_more::boolean, :seconds::integer) AS did;
