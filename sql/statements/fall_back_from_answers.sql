-- Stores the fallback events of calls whose answers cannot be used, so that the receipt is used as it is.
-- A worker sends it in the transaction that rejects these answers. A call without a fallback, or whose fallback was used, gets none.
-- Returns one row without a value.
SELECT appstore.fall_back(ARRAY(SELECT c.call_id FROM appstore.outbox AS c WHERE c.answer_event_id = ANY (:answer_event_ids::bigint[])));
