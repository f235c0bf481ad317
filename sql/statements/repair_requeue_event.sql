-- Requeues one event with any outcome.
-- appstore-inbox requeue sends it for each event that it names.
-- Returns 1, or 0 when a worker or another repair holds the event; an event that is unknown, or whose body was deleted, is an error.
SELECT appstore.requeue_event(:event_id::bigint, :note::text /* null */);
