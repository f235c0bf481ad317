-- Takes the next step of the repair that is due first, and commits it.
-- Each worker sends it every second, and at once while steps are due; appstore-inbox requeue and discard send it while they wait for a repair.
-- Returns one row: in how many seconds the next step is due, null where no repair is running.
SELECT s.pause FROM appstore.take_repair_step() AS s;
