CREATE OR REPLACE VIEW appstore.api_budget_status AS
SELECT b.bundle_id, b.environment, b.endpoint, b.setting, a.allowance, hour.used AS used_this_hour,
       hour.used / (a.allowance * 3600) AS used_ratio,
       CASE WHEN b.blocked_until > statement_timestamp() THEN b.blocked_until END AS blocked_until, b.last_429_at,
       (ARRAY['deadline', 'interactive', 'reconcile', 'history', 'import'])[b.last_class + 1] AS last_class
FROM appstore.api_budgets AS b
CROSS JOIN LATERAL (SELECT appstore.api_allowance(b.setting, b.lowered_to, b.last_429_at, statement_timestamp()) AS allowance) AS a
CROSS JOIN LATERAL (
    SELECT CASE WHEN b.hour_began = date_trunc('hour', statement_timestamp(), 'UTC') THEN b.used_this_hour ELSE 0 END AS used) AS hour;
COMMENT ON VIEW appstore.api_budget_status IS 'What the workers may ask the App Store Server API, and what they have asked in this hour.';
COMMENT ON COLUMN appstore.api_budget_status.endpoint IS 'The endpoint, such as consumption.';
COMMENT ON COLUMN appstore.api_budget_status.setting IS 'Requests a second that the settings allow.';
COMMENT ON COLUMN appstore.api_budget_status.allowance IS 'Requests a second that are allowed now: less than the setting for some hours after a 429.';
COMMENT ON COLUMN appstore.api_budget_status.used_this_hour IS 'Requests that workers have taken since the hour began.';
COMMENT ON COLUMN appstore.api_budget_status.used_ratio IS 'used_this_hour in relation to what the allowance permits in an hour.';
COMMENT ON COLUMN appstore.api_budget_status.blocked_until IS 'After a 429, until when nothing is asked; null while asking is allowed.';
COMMENT ON COLUMN appstore.api_budget_status.last_429_at IS 'When Apple said last that the limit was exceeded.';
COMMENT ON COLUMN appstore.api_budget_status.last_class IS 'The urgency of the latest request: deadline, interactive, reconcile, history or import.';
