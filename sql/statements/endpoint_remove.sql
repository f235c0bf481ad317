-- Removes an endpoint.
-- appstore-inbox endpoint remove sends it as appstore_operator.
-- Returns one row without meaning.
SELECT appstore.remove_endpoint(:name::text);
