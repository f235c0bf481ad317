-- Has the events of lost batches run by themselves from now on. An event whose process died while other batches ran beside it lets the
-- others go first, and stays alone to the end the next time.
-- A worker sends it for events that it holds (hold_lost_events), or that it has given up.
-- Returns no rows.
--
-- No writer of the queue names a time in the past: the low-water mark relies on it.
UPDATE appstore.inbox_queue AS q
SET is_isolated = true,
    run_at = greatest(q.run_at, clock_timestamp() + CASE WHEN q.is_isolated THEN interval '5 seconds' ELSE interval '0' END),
    last_error = CASE WHEN q.is_isolated THEN :died_beside_others::text ELSE q.last_error END
WHERE q.event_id = ANY (:event_ids::bigint[]);
