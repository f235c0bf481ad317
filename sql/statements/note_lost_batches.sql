-- Notes when batches were first found lost, and keeps isolated events of them from running before they are judged.
-- A worker sends it in the transaction in which it judges lost batches.
-- Returns no rows.
--
-- :lanes       the batches
-- :event_ids   the isolated events among theirs
-- :delay       how long these wait at least, in milliseconds
WITH noted AS (
    UPDATE appstore.batch_markers AS m SET lost_at = clock_timestamp() WHERE m.lane = ANY (:lanes::bigint[])
)
UPDATE appstore.inbox_queue AS q
SET run_at = greatest(q.run_at, clock_timestamp() + :delay::bigint * interval '1 millisecond')
WHERE q.event_id = ANY (:event_ids::bigint[]);
