-- Which consumption requests does Apple wait for? The most urgent first.
SELECT * FROM appstore.consumption_requests WHERE due_at > now() AND outcome IS NULL AND state IN ('waiting', 'refused') ORDER BY due_at;
