-- Reads how far transactions are, before a poll of appstore-inbox tail reads events; see TailWindow.
-- It sends it before each poll, outside of a transaction.
-- Returns one row: a time before the snapshot, the id that the next transaction gets, and the oldest one that is still running. On a standby the
-- time is that of the primary, as far as it has been replayed.
SELECT least(statement_timestamp(), CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() - interval '1 second' END) AS read_at,
       s.oldest::text::bigint + age(s.oldest::xid) AS next_transaction, s.oldest::text::bigint AS oldest_transaction
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS oldest) AS s;
