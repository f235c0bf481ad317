-- Isolates the events of batches whose worker died; see appstore.recover_lost_batches.
-- A worker sends it when it starts and about once a second.
-- Returns one row: what was found.
--
-- :lanes             batches that this worker lost while it lives, so that no event is the cause: their markers are removed first
-- :grace             how long another worker has to report that it lost a batch while it lives
-- :isolated_grace    the same for an isolated event, whose failure is counted
-- :maximum_deaths    how many deaths make an event failed
SELECT r.lost, r.isolated, r.deaths, r.failed,
       EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.is_isolated AND q.run_at <= statement_timestamp()) AS isolated_are_due
FROM appstore.recover_lost_batches(:lanes::bigint[], :grace::interval, :isolated_grace::interval, :maximum_deaths::integer) AS r;
