-- Writes the crash marker of an isolated event, with no other batch in its process: if the process dies, this event is the cause.
-- A worker sends it as mark_batch, but the event waits until the marker is on the disk: it may take the machine with it.
-- Returns no rows.
INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at)
VALUES (:lane::bigint, :event_ids::bigint[], true, clock_timestamp());
