-- Records that a request about an item of an import brought no answer.
-- The worker that leases the chunk sends it.
-- Returns one row: settled or stop; null when another lease has begun.
--
-- :reason   null where Apple knows no such id
SELECT appstore.miss_import_item(:import_id::integer, :first_line::integer, :epoch::bigint, :line::integer, :reason::text, :at_most::integer,
                                 :seconds::integer) AS did;
