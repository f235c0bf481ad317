-- Renews the lease of a chunk of an import after a request to which Apple gave no answer.
-- The worker that leases the chunk sends it.
-- Returns one row: whether none of its requests was answered for a day; null when another lease has begun.
SELECT r.silent_since < clock_timestamp() - interval '1 day' AS is_long
FROM appstore.renew_import_lease(:import_id::integer, :first_line::integer, :epoch::bigint, :seconds::integer, false) AS r;
