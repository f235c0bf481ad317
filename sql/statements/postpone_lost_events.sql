-- Counts the death of its process against each of some isolated events, and has it wait for its next attempt.
-- A worker sends it for events that it holds (hold_lost_events), or that it has given up.
-- Returns no rows.
--
-- one element for each event; :delays in milliseconds
WITH dead AS MATERIALIZED (
    SELECT d.* FROM unnest(:event_ids::bigint[], :delays::bigint[], :errors::text[]) AS d (event_id, delay, error)
)
UPDATE appstore.inbox_queue AS q
SET attempts = q.attempts + 1, deaths = q.deaths + 1, is_isolated = true,
    (last_error, run_at) = (SELECT d.error, clock_timestamp() + d.delay * interval '1 millisecond'
                            FROM dead AS d WHERE d.event_id = q.event_id)
WHERE q.event_id = ANY (:event_ids::bigint[]);
