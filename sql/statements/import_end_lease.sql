-- Ends the lease of a chunk of an import.
-- The worker that leases it sends it after its last item, after a failure, or when it shuts down.
-- Returns one row: false when another lease has begun.
SELECT appstore.end_import_lease(:import_id::integer, :first_line::integer, :epoch::bigint, :reason::text,
                                 :delay_milliseconds * interval '1 millisecond', :counts::boolean) AS is_ours;
