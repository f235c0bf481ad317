-- Reads an event of the inbox.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns one row, or none when the body has been deleted or there never was such an event.
SELECT source, received_at, body FROM appstore.inbox WHERE event_id = :event_id::bigint;
