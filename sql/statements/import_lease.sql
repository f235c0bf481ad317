-- Leases chunks of imports.
-- A worker sends it when it has room for another chunk.
-- Returns a row for each chunk that it leased, with its items.
--
-- :slots   how many of each app, environment and depth at most
SELECT c.import_id, c.first_line, c.epoch, c.bundle_id, c.environment::text, c.depth, c.failures, c.lines, c.ids, c.revisions, c.is_given
FROM appstore.lease_import_chunks(:bundle_ids::text[], :environments::appstore.environment[], :depths::text[], :slots::integer[],
                                  :seconds::integer) AS c;
