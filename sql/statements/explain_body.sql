-- Reads the body of an event.
-- appstore-inbox explain sends it, in a transaction that only reads, where the role may read bodies.
-- Returns one row with the server's time, or none when the body has been deleted or there never was such an event.
SELECT i.source, i.received_at, i.body, clock_timestamp() AS now FROM appstore.inbox AS i WHERE i.event_id = :event_id::bigint;
