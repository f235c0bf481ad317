-- Reads what goes out: endpoints, consumers, and what is asked of Apple.
-- The console sends it for its page Outgoing.
-- Returns one row: a JSON object with an array of objects for each table of the page, and how many rows there are in all (of requests, up to
-- 10,000).
SELECT jsonb_build_object(
    'endpoints', (
        SELECT jsonb_agg(to_jsonb(e) || jsonb_build_object('oldest_undelivered', extract(epoch FROM e.oldest_undelivered)::bigint) ORDER BY e.name)
        FROM (SELECT * FROM appstore.endpoint_status AS e ORDER BY e.name LIMIT 12) AS e),
    'consumers', (
        SELECT jsonb_agg(to_jsonb(c) || jsonb_build_object('lag', h.position - c.position) ORDER BY c.name)
        FROM (SELECT * FROM appstore.feed_consumers AS c ORDER BY c.name LIMIT 10) AS c CROSS JOIN appstore.feed_head AS h),
    'coverage', (
        SELECT jsonb_agg(to_jsonb(c) || jsonb_build_object('age', extract(epoch FROM c.age)::bigint) ORDER BY c.bundle_id, c.environment)
        FROM (SELECT * FROM appstore.history_coverage AS c ORDER BY c.bundle_id, c.environment LIMIT 8) AS c),
    'budgets', (
        SELECT jsonb_agg(to_jsonb(b) || jsonb_build_object('used_percent', round((b.used_ratio * 100)::numeric, 1))
                         ORDER BY b.blocked_until, b.used_ratio DESC, b.bundle_id, b.environment, b.endpoint)
        FROM (SELECT * FROM appstore.api_budget_status AS b ORDER BY b.blocked_until, b.used_ratio DESC LIMIT 8) AS b),
    'requests', (
        SELECT jsonb_agg(to_jsonb(r) ORDER BY r.due_at, r.transaction_id)
        FROM (SELECT * FROM appstore.consumption_requests AS r
              WHERE r.due_at > statement_timestamp() AND r.outcome IS NULL ORDER BY r.due_at LIMIT 8) AS r),
    'imports', (
        SELECT jsonb_agg(to_jsonb(i) || jsonb_build_object('time_left', extract(epoch FROM i.time_left)::bigint) ORDER BY i.import_id DESC)
        FROM (SELECT * FROM appstore.import_status AS i ORDER BY i.import_id DESC LIMIT 5) AS i),
    'endpoints_in_all', (SELECT count(*) FROM appstore.endpoints),
    'consumers_in_all', (SELECT count(*) FROM appstore.feed_consumers),
    'coverage_in_all', (SELECT count(*) FROM appstore.history_cursors),
    'budgets_in_all', (SELECT count(*) FROM appstore.api_budgets),
    'requests_in_all', (
        SELECT count(*)
        FROM (SELECT FROM appstore.consumption_obligations AS c
              WHERE c.due_at > statement_timestamp() AND c.asked_at IS NOT NULL AND c.outcome IS NULL LIMIT 10000) AS one),
    'imports_in_all', (SELECT count(*) FROM appstore.imports AS i WHERE i.state <> 'loading')
) AS document;
