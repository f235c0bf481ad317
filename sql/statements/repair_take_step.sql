-- Runs the next step of a repair of more than 1,000 events, and commits it.
-- appstore-inbox requeue and discard send it repeatedly, first with a null :progress, then with the progress that the last step returned.
-- Returns one row: how many events were repaired so far, whether that is all, how many seconds to pause, and the progress.
SELECT s.events, s.is_done, extract(epoch FROM s.pause)::double precision AS pause, s::text AS progress
FROM appstore.repair_step(:action::text, jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), :note::text /* null */,
                          :progress::text /* null */::appstore.repair_progress) AS s;
