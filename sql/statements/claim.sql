-- Takes due events, those that wait longest first, which no other transaction holds and which need not run by themselves.
-- A worker sends it as the first statement of a batch's transaction; the rows stay locked until the transaction ends.
-- Returns a row for each event, in the order of the queue. read_bodies reads what the inbox has of them.
--
-- :contract                      the contract of this program, see appstore.fence: a worker of another release takes nothing
-- :from_run_at, :from_event_id   where the walk along the queue begins, see LowWaterMark
-- :limit, :bytes                 the most events, and bytes of bodies; a larger body comes alone
-- :lane                          the advisory lock that the batch holds, see appstore.batch_markers
WITH due AS MATERIALIZED ( -- 1. lock
    SELECT q.event_id, q.run_at, q.attempts, q.run, q.bytes
    FROM appstore.inbox_queue AS q
    WHERE q.run_at <= statement_timestamp() AND (q.run_at, q.event_id) >= (:from_run_at::timestamptz, :from_event_id::bigint)
      AND NOT q.is_isolated AND (SELECT f.contract FROM appstore.fence AS f) = :contract::integer
    ORDER BY q.run_at, q.event_id
    LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
), measured AS ( -- 2. keep to the byte budget; the transaction's end releases what is over it
    SELECT due.*, sum(due.bytes) OVER (ORDER BY due.run_at, due.event_id) - due.bytes AS bytes_before
    FROM due
)
SELECT m.event_id, m.run_at, m.attempts, m.run, clock_timestamp() AS claimed_at,
       (SELECT pg_advisory_xact_lock(:lane::bigint)) AS lane -- 3. once, and only if there are events
FROM measured AS m
WHERE m.bytes_before = 0 OR m.bytes_before + m.bytes <= :bytes::bigint
ORDER BY m.run_at, m.event_id;
