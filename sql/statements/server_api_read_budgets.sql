-- Reads the budgets of the App Store Server API by endpoint and environment: of several apps the one that has used most, and the longest block.
-- A worker sends it every few seconds for its metrics.
-- Returns one row: arrays of the endpoints, environments, used ratios and seconds of the block that are left.
SELECT array_agg(b.endpoint ORDER BY b.endpoint, b.environment) AS endpoints,
       array_agg(b.environment::text ORDER BY b.endpoint, b.environment) AS environments,
       array_agg(b.used_ratio ORDER BY b.endpoint, b.environment) AS used_ratios,
       array_agg(b.blocked ORDER BY b.endpoint, b.environment) AS blocked_seconds
FROM (
    SELECT s.endpoint, s.environment, max(s.used_ratio) AS used_ratio,
           coalesce(max(extract(epoch FROM s.blocked_until - statement_timestamp())), 0)::double precision AS blocked
    FROM appstore.api_budget_status AS s GROUP BY s.endpoint, s.environment
) AS b;
