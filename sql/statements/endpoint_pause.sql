-- Delivers nothing to an endpoint until it is resumed.
-- appstore-inbox endpoint pause sends it as appstore_operator.
-- Returns one row without meaning.
SELECT appstore.pause_endpoint(:name::text, :why::text);
