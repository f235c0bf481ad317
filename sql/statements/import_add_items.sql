-- Loads lines of a file into an import.
-- appstore-inbox import new sends it as appstore_operator, for some thousand lines at a time.
-- Returns one row: how many became items, and the lines that contradict an earlier one.
SELECT a.added, a.contradicting
FROM appstore.add_import_items(:import_id::integer, :lines::integer[], :ids::text[], :user_ids::text[],
                               :environments::appstore.environment[], :revisions::text[]) AS a;
