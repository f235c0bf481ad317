-- Reads how far the named consumers of the feed are.
-- A worker sends it every few seconds for its metrics.
-- Returns a row for each consumer: how many entries it has not taken.
SELECT c.name, c.lag FROM appstore.consumer_statistics() AS c;
