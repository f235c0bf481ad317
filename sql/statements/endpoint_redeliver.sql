-- Asks workers to deliver entries to an endpoint again.
-- appstore-inbox redeliver sends it as appstore_operator.
-- Returns how many entries these are.
--
-- :from_position, :upto_position   the first and the last position; null for no bound
-- :since, :before                  when they were told
-- :only_failed                     only deliveries that failed or were given up
-- :dry_run                         only counts them
SELECT appstore.redeliver(:name::text, :from_position::bigint, :upto_position::bigint, :since::timestamptz, :before::timestamptz,
                          :types::text[], :only_failed::boolean, :dry_run::boolean, :note::text) AS entries;
