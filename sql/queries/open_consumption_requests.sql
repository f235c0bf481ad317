-- Which consumption requests does Apple wait for? The most urgent first.
SELECT * FROM appstore.consumption_requests WHERE open ORDER BY due_at;
