-- Takes the next step of the repair that is due first, and commits it.
-- The console sends it every second, and at once while steps are due.
-- Returns one row: the repair, null where none was due, and in how many seconds the next step is due, null where no repair is running.
SELECT s.repair_id, s.pause FROM appstore.take_repair_step() AS s;
