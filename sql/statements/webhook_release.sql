-- Ends the lease of an endpoint.
-- A worker sends it when it shuts down.
-- Returns one row without a value.
SELECT appstore.release_endpoint(:name::text, :epoch::bigint);
