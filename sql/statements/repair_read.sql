-- Reads how far a repair is.
-- appstore-inbox requeue and discard send it after each step, until the repair has ended.
-- Returns one row.
SELECT s.state, s.repaired, s.last_error FROM appstore.repair_status AS s WHERE s.repair_id = :repair_id::bigint;
