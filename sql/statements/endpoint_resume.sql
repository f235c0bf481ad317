-- Goes on with an endpoint.
-- appstore-inbox endpoint resume sends it as appstore_operator.
-- Returns one row without meaning.
--
-- :after   the position after which it goes on; null for where it was
SELECT appstore.resume_endpoint(:name::text, :after::bigint);
