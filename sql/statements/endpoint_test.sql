-- Tells a test to an endpoint.
-- appstore-inbox endpoint create and test send it as appstore_operator.
-- Returns the id of the coming entry.
SELECT appstore.test_endpoint(:name::text) AS id;
