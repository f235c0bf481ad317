-- Gives an endpoint a new secret.
-- appstore-inbox endpoint rotate sends it as appstore_operator.
-- Returns the generation of the secret.
SELECT appstore.rotate_endpoint_secret(:name::text) AS generation;
