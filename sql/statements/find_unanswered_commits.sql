-- Finds commits of the same role that have been waiting for a synchronous standby for a second.
-- ingest sends it in front of a probe, as long as one of its commits has no answer. After a failover the new primary has none.
-- Returns no columns, a row for each.
SELECT FROM pg_catalog.pg_stat_activity AS a
WHERE a.datname = current_database() AND a.wait_event = 'SyncRep' AND a.state_change < clock_timestamp() - interval '1 second';
