-- Lists the endpoints that are not well, worst first: not enabled, failing, or with deliveries that were given up.
-- The console's pages Overview and Attention send it, as appstore_viewer.
-- Returns a row for each of them, with the number of all endpoints; one row without a name where all are well.
SELECT s.name, s.state, s.why, s.breaker, s.failing_since, s.given_up, s.last_error, all_of_them.endpoints
FROM (SELECT count(*) AS endpoints FROM appstore.endpoints) AS all_of_them
LEFT JOIN appstore.endpoint_status AS s ON s.state <> 'enabled' OR s.breaker <> 'closed' OR s.given_up > 0
ORDER BY s.state = 'enabled', s.breaker = 'closed', s.name;
