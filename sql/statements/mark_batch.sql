-- Writes the crash marker of a batch: which events it holds.
-- A worker sends it on a connection of its own, after the claim and before it does anything with the events; the batch's transaction
-- removes it (appstore.settle). A marker that remains while its lane is free tells other workers that this one died.
-- The marker is for a worker that dies, which PostgreSQL outlives; so the batch does not wait for the disk.
-- Returns no rows.
INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at)
SELECT :lane::bigint, :event_ids::bigint[], false, clock_timestamp() FROM set_config('synchronous_commit', 'off', true);
