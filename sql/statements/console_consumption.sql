-- Lists Apple's consumption requests that wait for an answer, by the time that is left.
-- The console's page Attention sends it, as appstore_viewer.
-- Returns at most :limit rows.
SELECT r.transaction_id, r.asked_at, r.due_at, r.state, r.user_id, r.product_id, r.reason, r.is_expected
FROM appstore.consumption_requests AS r
WHERE r.environment = :environment::appstore.environment AND r.due_at > statement_timestamp() AND r.state IN ('waiting', 'refused')
ORDER BY r.due_at LIMIT :limit::integer;
