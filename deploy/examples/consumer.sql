-- A consumer of the feed in SQL, for a backend whose tables are in the same database. Run it every second:
--   psql 'dbname=shop user=appstore_backend' -v ON_ERROR_STOP=1 -f consumer.sql
-- What it writes and how far it is commit together: each entry is handled exactly once, whatever fails in between. Runs at the same time wait
-- for each other.
--
-- Once, as appstore_operator:  SELECT appstore.enable_feed();
-- Once, as appstore_backend:   SELECT appstore.set_consumer('shop');
-- And a table of yours, where a user may use what any of its rows says:
--   CREATE TABLE access (contract text, entitlement text, user_id text, active boolean NOT NULL, until timestamptz,
--                        PRIMARY KEY (contract, entitlement, user_id));
WITH taken AS MATERIALIZED (
    SELECT f.position, f.type, f.subject, f.user_id, f.data FROM appstore.take('shop', 500) AS f
    WHERE f.type = 'access.changed' AND f.environment = 'Production' OR f.type = 'user.forgotten'
), forgotten AS (
    DELETE FROM access AS a USING taken AS t WHERE t.type = 'user.forgotten' AND a.user_id = t.user_id
), latest AS (
    SELECT DISTINCT ON (t.subject, t.data ->> 'entitlement', t.user_id)
           t.subject AS contract, t.data ->> 'entitlement' AS entitlement, t.user_id, (t.data ->> 'active')::boolean AS active,
           (t.data ->> 'until')::timestamptz AS until
    FROM taken AS t WHERE t.type = 'access.changed'
    ORDER BY t.subject, t.data ->> 'entitlement', t.user_id, t.position DESC
)
INSERT INTO access AS a (contract, entitlement, user_id, active, until) SELECT l.* FROM latest AS l
ON CONFLICT (contract, entitlement, user_id) DO UPDATE SET active = excluded.active, until = excluded.until;
