-- Reads what the database takes and what it may run out of.
-- A worker sends it once a minute for its metrics, appstore-inbox doctor for its parts database and disk.
-- Returns one row.
SELECT s.database_bytes, s.inbox_bytes, s.outcome_bytes, s.ledger_bytes, s.rest_bytes, s.parents, s.partitions, s.tables, s.live_rows,
       s.dead_rows, s.slots, s.slot_bytes, s.database_age, s.oldest_table, s.table_age, s.freeze_max_age, s.locks_held, s.lock_slots,
       s.checkpoints_timed, s.checkpoints_requested
FROM appstore.storage_statistics() AS s;
