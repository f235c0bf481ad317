-- Says which of some events have no outcome yet, whether another transaction holds them or not.
-- A worker sends it for the events of lost batches.
-- Returns a row for each of them.
SELECT q.event_id FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (:event_ids::bigint[]);
