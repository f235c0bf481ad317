-- Leases calls of some kinds about some apps in some environments: those that are due, and those whose lease has expired.
-- A worker sends it for each lane of the outbox when the lane has room. No lock outlasts the statement: the lease is the epoch, which each
-- statement that settles the call repeats, and a time.
-- Returns a row for each call, with the source and body of its event, which are null when the inbox does not hold the body any more.
WITH backlog AS MATERIALIZED ( -- evaluated once, and only where a call of the reconciliation is due
    SELECT appstore.has_backlog(statement_timestamp()) AS waits
), due AS MATERIALIZED ( -- 1. lock: of each app and priority the calls that wait longest, so that a large app does not delay the others
    SELECT first.call_id
    FROM unnest(:bundle_ids::text[], :environments::appstore.environment[]) AS lane (bundle_id, environment)
    CROSS JOIN unnest(:kinds::text[]) AS asked (kind)
    CROSS JOIN generate_series(0, 4) AS class (priority) -- one by one, so that postponed calls of one are not read for those of the next
    CROSS JOIN LATERAL (
        SELECT c.call_id, c.priority, c.run_at FROM appstore.outbox AS c
        WHERE c.state = 'open' AND c.bundle_id = lane.bundle_id AND c.environment = lane.environment
          AND c.kind = asked.kind AND c.priority = class.priority AND c.run_at <= statement_timestamp()
          -- The reconciliation asks when nothing has been heard of a contract, which may have changed since the call was written.
          AND (c.priority <> 2 OR NOT (SELECT b.waits FROM backlog AS b) AND appstore.may_be_called(c.environment, c.call_key))
        ORDER BY c.run_at, c.call_id
        LIMIT :limit::bigint
        FOR UPDATE SKIP LOCKED
    ) AS first
    ORDER BY first.priority, first.run_at, first.call_id
    LIMIT :limit::bigint
), leased AS ( -- 2. a new epoch, until a new time
    UPDATE appstore.outbox AS c
    SET epoch = c.epoch + 1, is_leased = true, run_at = clock_timestamp() + :lease::interval
    WHERE c.call_id = ANY (ARRAY(SELECT due.call_id FROM due))
    RETURNING c.call_id, c.epoch, c.kind, c.bundle_id, c.environment, c.priority, c.event_id, c.payload, c.attempts, c.last_reason, c.repeats,
              (extract(epoch FROM c.deadline_at - clock_timestamp()) * 1000)::bigint AS milliseconds_left
)
SELECT leased.call_id, leased.epoch, leased.kind, leased.bundle_id, leased.environment::text, leased.priority, leased.payload, leased.attempts, leased.last_reason, leased.repeats,
       leased.milliseconds_left, i.source, i.body -- 3. bodies
FROM leased
LEFT JOIN LATERAL ( -- OFFSET 0 pins an index lookup for each call
    SELECT i.source, i.body FROM appstore.inbox AS i WHERE i.event_id = leased.event_id OFFSET 0
) AS i ON true
ORDER BY leased.call_id;
