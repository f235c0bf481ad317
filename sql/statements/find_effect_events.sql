-- Finds the event that brought each of these effects.
-- A worker sends it in the transaction of a batch, after appstore.apply_facts, for the effects that were not new.
-- Returns effect_id and event_id.
SELECT e.effect_id, e.event_id FROM appstore.effect_log AS e WHERE e.effect_id = ANY (:effect_ids::uuid[]);
