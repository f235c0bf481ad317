-- Sends events back to wait for their next attempt.
-- A worker sends it with the COMMIT of a batch, for events that failed, or that could not run. It holds the rows since its claim.
-- Returns no rows.
--
-- one element for each event:
-- :are_attempts, :are_isolated   whether this was one of its attempts; whether it must run by itself from now on
-- :are_blocked                   whether the server lacked what it needs, or another session held it
-- :delays, :errors               how long it waits, in milliseconds; why
WITH later AS MATERIALIZED (
    SELECT l.*
    FROM unnest(:event_ids::bigint[], :are_attempts::boolean[], :are_isolated::boolean[], :are_blocked::boolean[], :delays::bigint[],
                :errors::text[])
             AS l (event_id, is_attempt, is_isolated, is_blocked, delay, error)
)
UPDATE appstore.inbox_queue AS q
SET (attempts, is_isolated, blocked_since, last_error, run_at) = (
    SELECT q.attempts + l.is_attempt::integer, q.is_isolated OR l.is_isolated,
           CASE WHEN l.is_blocked THEN coalesce(q.blocked_since, clock_timestamp()) END, l.error,
           clock_timestamp() + l.delay * interval '1 millisecond'
    FROM later AS l WHERE l.event_id = q.event_id)
WHERE q.event_id = ANY (:event_ids::bigint[]);
