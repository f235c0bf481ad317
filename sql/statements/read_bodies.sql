-- Reads what the inbox has of events that a batch has claimed.
-- A worker sends it after claim or claim_event, in the same transaction.
-- Returns a row for each event whose body has not been dropped, in any order.
--
-- :event_ids                          the events
-- :first_event_id, :last_event_id     the least and the greatest of them: with these bounds PostgreSQL leaves out all other partitions when
--                                     the statement begins, which it does not for = ANY alone
-- :statement_timeout, :lock_timeout   for the later statements of the transaction, in milliseconds; null for those of the role
SELECT i.event_id, i.source, i.received_at, i.body,
       (SELECT set_config('statement_timeout', :statement_timeout::text /* null */, true)) AS statement_timeout, -- once each
       (SELECT set_config('lock_timeout', :lock_timeout::text /* null */, true)) AS lock_timeout
FROM appstore.inbox AS i
WHERE i.event_id = ANY (:event_ids::bigint[]) AND i.event_id >= :first_event_id::bigint AND i.event_id <= :last_event_id::bigint;
