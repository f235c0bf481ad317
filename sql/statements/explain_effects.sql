-- Reads the effects that this version derives from an event, and those that the event has recorded in its contract.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each, as JSON, earliest first.
--
-- :effect_ids   the effects that this version derives from the event; another event may have recorded them
SELECT row_to_json(e)::text AS row
FROM (
    SELECT e.*
    FROM appstore.effects AS e
    WHERE e.effect_id = ANY (:effect_ids::uuid[])
    UNION
    SELECT e.*
    FROM appstore.effects AS e
    WHERE e.environment::text = :environment::text AND e.original_transaction_id = :original_transaction_id::text
      AND e.event_id = :event_id::bigint
) AS e
ORDER BY e.occurred_at, e.effect_id;
