-- Takes a step of the sequencer: numbers what was committed since the last one.
-- The worker's feed service sends it. Returns one row: whether the feed is on, how many rows were told, whether there is more.
--
-- :max_tells   how many changes it takes at most
SELECT s.is_on, s.told, s.has_more FROM appstore.sequence_feed(:max_tells) AS s;
