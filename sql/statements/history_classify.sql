-- Gives records of the history their class, once their event has an outcome.
-- A worker that has keys sends it every few seconds.
-- Returns one row: the event after which it goes on; null when there are no more.
SELECT appstore.classify_history(:after::bigint) AS after;
