-- Requeues the events that were selected on a page, all or none.
-- The console sends it.
-- Returns how many were requeued; a worker holds the others. An event that is unknown, or whose body was deleted, is an error.
SELECT coalesce(sum(appstore.requeue_event(e.event_id, :note::text /* null */)), 0)::bigint AS events
FROM (SELECT DISTINCT id AS event_id FROM unnest(:event_ids::bigint[]) AS id ORDER BY id) AS e;
