-- Finds the first event of the queue, locked or not, without locking any row; see LowWaterMark.
-- A worker sends it in front of a claim in the same round trip, and alone while it waits for events. It must be the first statement of its
-- transaction: the snapshot is the transaction's.
-- Returns one row: the first event, null if there is none, and the snapshot's data about the transactions in progress.
--
-- :is_numbered                    whether the transaction gets a number; an idle server that assigns none writes no WAL
-- :from_run_at, :from_event_id    where the walk along the queue begins
SELECT first.run_at, first.event_id, statement_timestamp() AS probed_at, pg_snapshot_xmin(seen)::text::bigint AS xmin,
       clock_timestamp() AS ended_at, CASE WHEN :is_numbered::boolean THEN pg_current_xact_id()::text::bigint END AS xid,
       pg_postmaster_start_time() AS server_start
FROM pg_current_snapshot() AS seen
LEFT JOIN LATERAL (
    SELECT q.run_at, q.event_id FROM appstore.inbox_queue AS q
    WHERE (q.run_at, q.event_id) >= (:from_run_at::timestamptz, :from_event_id::bigint)
    ORDER BY q.run_at, q.event_id
    LIMIT 1
) AS first ON true;
