-- Reads the other events about contracts, with their bodies.
-- appstore-inbox explain sends it, in a transaction that only reads, to find the event behind the state of a register.
-- Returns up to 100 rows, latest first, and with each the server's time.
SELECT i.event_id, i.source, i.received_at, i.body, clock_timestamp() AS now
FROM (
    SELECT o.event_id
    FROM appstore.outcomes AS o
    WHERE o.environment = :environment::text AND o.original_transaction_id = ANY (:original_transaction_ids::text[])
      AND o.result <> 'rejected'
    UNION -- events about several contracts
    SELECT e.event_id
    FROM appstore.event_contracts AS e
    WHERE e.environment::text = :environment::text AND e.original_transaction_id = ANY (:original_transaction_ids::text[])
) AS about
JOIN appstore.inbox AS i ON i.event_id = about.event_id
WHERE i.event_id <> :event_id::bigint
ORDER BY i.event_id DESC
LIMIT 100;
