-- Erases a user.
-- The console sends it.
-- Returns one row: the alias, null where there was nothing, and what was renamed and deleted.
SELECT f.alias, f.orders, f.contracts, f.posts, f.bodies FROM appstore.forget(:user_id::text, :note::text) AS f;
