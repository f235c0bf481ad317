-- Finds where appstore-inbox tail begins: with the latest :events events, of which it shows the last ones that it is asked for.
-- It sends it once.
-- Returns one row; from is null while no event has been settled.
SELECT appstore.settled_since(:events::integer) AS settled_from;
