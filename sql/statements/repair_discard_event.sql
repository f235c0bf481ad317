-- Discards one event that was not applied.
-- appstore-inbox discard sends it for each event that it names.
-- Returns 1, or 0 when a worker or another repair holds the event; an event that was applied, or that is unknown, is an error.
SELECT appstore.discard_event(:event_id::bigint, :note::text /* null */);
