CREATE OR REPLACE VIEW appstore.import_status AS
SELECT r.import_id, r.bundle_id, r.environment, r.depth, r.file_name, r.state, r.made_by, r.made_at, r.ended_at, r.items, r.last_line, r.repeated, r.bad_lines,
       n.found, n.covered, n.unknown, n.failed, n.waiting, r.items - n.settled AS remaining, coalesce(n.failing_with, w.no_worker) AS failing_with, k.rate,
       b.allowance, b.blocked_until,
       CASE WHEN r.state = 'running'
            THEN coalesce(b.blocked_until - statement_timestamp(), interval '0')
                 + greatest(r.items - n.settled - n.waiting, 0) / k.rate * interval '1 second' END AS time_left,
       CASE WHEN b.allowance > 0 THEN greatest(r.items - n.settled - n.waiting, 0) / b.allowance * interval '1 second' END AS least_time
FROM appstore.imports AS r
CROSS JOIN LATERAL (
    SELECT r.found + coalesce(sum(c.found), 0)::integer AS found, r.covered + coalesce(sum(c.covered), 0)::integer AS covered,
           r.unknown + coalesce(sum(c.unknown), 0)::integer AS unknown, r.failed + coalesce(sum(c.failed), 0)::integer AS failed,
           r.found + r.covered + r.unknown + r.failed + coalesce(sum(c.found + c.covered + c.unknown + c.failed), 0)::integer AS settled,
           coalesce(sum(c.waiting), 0)::integer AS waiting,
           (array_agg(c.last_error ORDER BY c.run_at) FILTER (WHERE c.last_error IS NOT NULL AND r.state = 'running'))[1] AS failing_with
    FROM appstore.import_chunks AS c WHERE c.import_id = r.import_id
) AS n
CROSS JOIN LATERAL (
    SELECT sum(k.settled) / nullif(count(*) * 10.0, 0)::double precision AS rate FROM appstore.import_rates AS k
    WHERE k.import_id = r.import_id AND k.at > statement_timestamp() - interval '10 minutes' AND k.at < statement_timestamp() - interval '10 seconds'
) AS k
LEFT JOIN LATERAL (
    SELECT b.allowance, b.blocked_until FROM appstore.api_budget_status AS b
    WHERE b.bundle_id = r.bundle_id AND b.environment = coalesce(r.environment, 'Production')
      AND b.endpoint = CASE r.depth WHEN 'statuses' THEN 'subscription_statuses' ELSE 'transaction_history' END
) AS b ON true
LEFT JOIN LATERAL ( -- the lane that has something to ask since ten minutes, and no lease
    SELECT 'no worker asks in ' || e.environment AS no_worker
    FROM unnest(enum_range(NULL::appstore.environment)) AS e (environment)
    WHERE r.state = 'running' AND b.blocked_until IS NULL
      AND (EXISTS (SELECT FROM appstore.import_chunks AS c
                   WHERE c.import_id = r.import_id AND c.environment = e.environment AND c.phase <> 'link'
                     AND c.run_at < statement_timestamp() - interval '10 minutes')
           OR (r.next_line = 1 AND r.touched_at < statement_timestamp() - interval '10 minutes'
               AND e.environment = coalesce(r.environment, 'Production')))
      AND NOT EXISTS (SELECT FROM appstore.imports AS other JOIN appstore.import_chunks AS c USING (import_id)
                      WHERE other.bundle_id = r.bundle_id AND other.depth = r.depth AND c.environment = e.environment AND c.is_leased
                        AND c.run_at > statement_timestamp())
    ORDER BY e.environment LIMIT 1
) AS w ON true
WHERE r.state <> 'loading';
COMMENT ON VIEW appstore.import_status IS 'The imports, how far they are, and when they will be done.';
COMMENT ON COLUMN appstore.import_status.import_id IS 'The number of the import.';
COMMENT ON COLUMN appstore.import_status.environment IS 'The environment of all items that name none; null where Production was asked first, then Sandbox.';
COMMENT ON COLUMN appstore.import_status.depth IS 'statuses or history.';
COMMENT ON COLUMN appstore.import_status.file_name IS 'The name of the file.';
COMMENT ON COLUMN appstore.import_status.state IS 'running, paused, stopped or done.';
COMMENT ON COLUMN appstore.import_status.made_by IS 'The login that began it.';
COMMENT ON COLUMN appstore.import_status.made_at IS 'When it was begun.';
COMMENT ON COLUMN appstore.import_status.ended_at IS 'When it was stopped or done.';
COMMENT ON COLUMN appstore.import_status.items IS 'How many ids it has, each counted once.';
COMMENT ON COLUMN appstore.import_status.last_line IS 'The greatest line of its ids.';
COMMENT ON COLUMN appstore.import_status.repeated IS 'Lines whose id an earlier line had.';
COMMENT ON COLUMN appstore.import_status.bad_lines IS 'Lines that were not imported.';
COMMENT ON COLUMN appstore.import_status.found IS 'Ids that Apple answered.';
COMMENT ON COLUMN appstore.import_status.covered IS 'Ids that the answer about another id named, so that they were not asked.';
COMMENT ON COLUMN appstore.import_status.unknown IS 'Ids that Apple did not know, twice.';
COMMENT ON COLUMN appstore.import_status.failed IS 'Ids that Apple refused.';
COMMENT ON COLUMN appstore.import_status.waiting IS 'Ids that Apple did not know, and that are asked once more a day later. They are part of remaining.';
COMMENT ON COLUMN appstore.import_status.remaining IS 'Ids that are not settled.';
COMMENT ON COLUMN appstore.import_status.failing_with IS
    'Why requests fail or wait; null where they do not. no worker asks in …: for ten minutes none was there that processes the app and environment, '
    'and has a key that Apple accepts.';
COMMENT ON COLUMN appstore.import_status.rate IS
    'Ids settled in a second, of the last ten minutes without the times in which nothing was settled; null while it is not known.';
COMMENT ON COLUMN appstore.import_status.allowance IS 'Requests in a second that Apple''s limit and the settings allow; null before the first one.';
COMMENT ON COLUMN appstore.import_status.blocked_until IS 'After a 429, until when nothing is asked; null while asking is allowed.';
COMMENT ON COLUMN appstore.import_status.time_left IS 'For what is remaining and not waiting, at this rate, after the block; null while it is not known.';
COMMENT ON COLUMN appstore.import_status.least_time IS 'For the same at the allowance, with a request for each id.';
