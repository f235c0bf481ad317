-- Reads what workers have read of Apple's notification history, and what they may ask.
-- appstore-inbox doctor sends it as appstore_viewer or appstore_operator.
-- Returns a row for each app and environment whose key a worker has had: the age of the coverage in seconds, how many windows fail, how many
-- notifications another server took, and the endpoints of which Apple has blocked more requests.
SELECT c.bundle_id, c.environment::text, c.mode, extract(epoch FROM c.age)::bigint AS age, c.failing_since IS NOT NULL AS is_failing,
       c.taken_elsewhere,
       ARRAY(SELECT b.endpoint FROM appstore.api_budget_status AS b
             WHERE b.bundle_id = c.bundle_id AND b.environment = c.environment AND b.blocked_until IS NOT NULL ORDER BY b.endpoint) AS blocked
FROM appstore.history_coverage AS c
ORDER BY c.bundle_id, c.environment;
