-- Discards the events that were selected on a page, all or none.
-- The console sends it.
-- Returns how many were discarded; a worker holds the others. An event that was applied, or that is unknown, is an error.
SELECT coalesce(sum(appstore.discard_event(e.event_id, :note::text /* null */)), 0)::bigint AS events
FROM (SELECT DISTINCT id AS event_id FROM unnest(:event_ids::bigint[]) AS id ORDER BY id) AS e;
