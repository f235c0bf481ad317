-- Changes whether the death of its process would be the fault of the event of a crash marker.
-- A worker sends it when other batches join an isolated event that waits for the database, and when that event computes for too long.
-- Returns no rows.
UPDATE appstore.batch_markers AS m SET is_alone = :is_alone::boolean
FROM set_config('synchronous_commit', 'off', true)
WHERE m.lane = :lane::bigint;
