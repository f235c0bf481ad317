CREATE OR REPLACE VIEW appstore.history_coverage AS
SELECT c.bundle_id, c.environment, c.mode, lower(r.range) AS covered_from, coalesce(upper(r.range), c.anchor) AS covered_to,
       statement_timestamp() - coalesce(upper(r.range), c.anchor) AS age, c.since, c.edge, w.open_windows, w.failing_since,
       coalesce(n.confirmed, 0) AS confirmed, coalesce(n.recovered, 0) AS recovered, coalesce(n.taken_elsewhere, 0) AS taken_elsewhere,
       coalesce(n.refused_here, 0) AS refused_here, coalesce(n.in_flight, 0) AS in_flight, coalesce(n.unlisted, 0) AS unlisted,
       n.unlisted * n.not_pushed / nullif(n.confirmed, 0)::double precision AS missed_by_both
FROM appstore.history_cursors AS c
LEFT JOIN LATERAL (
    SELECT r AS range FROM unnest(c.covered) AS r WHERE lower(r) <= c.anchor AND upper(r) >= c.anchor) AS r ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS open_windows, min(w.failing_since) AS failing_since
    FROM appstore.history_windows AS w
    WHERE w.bundle_id = c.bundle_id AND w.environment = c.environment AND w.state = 'open') AS w
LEFT JOIN LATERAL (
    SELECT coalesce(sum(n.records) FILTER (WHERE n.class = 'confirmed'), 0)::bigint AS confirmed,
           coalesce(sum(n.records) FILTER (WHERE n.class = 'recovered'), 0)::bigint AS recovered,
           coalesce(sum(n.records) FILTER (WHERE n.class = 'taken_elsewhere'), 0)::bigint AS taken_elsewhere,
           coalesce(sum(n.records) FILTER (WHERE n.class = 'refused_here'), 0)::bigint AS refused_here,
           coalesce(sum(n.records) FILTER (WHERE n.class = 'in_flight'), 0)::bigint AS in_flight,
           coalesce(sum(n.records) FILTER (WHERE n.class = 'unlisted'), 0)::bigint AS unlisted,
           coalesce(sum(n.records) FILTER (WHERE n.class IN ('recovered', 'taken_elsewhere') AND n.mode = 'walk'), 0)::bigint AS not_pushed
    FROM appstore.history_counts AS n WHERE n.bundle_id = c.bundle_id AND n.environment = c.environment) AS n ON true;
COMMENT ON VIEW appstore.history_coverage IS
    'Until when Apple''s notification history was read, of each app and environment. Proved: every record that Apple returned for this time is in the '
    'inbox, or had been settled before. Not proved: that Apple listed everything; notifications V1 are not listed, nor is what Apple never tried to '
    'send. missed_by_both is an estimate of that.';
COMMENT ON COLUMN appstore.history_coverage.mode IS 'walk, beside (another service owns the URL) or off.';
COMMENT ON COLUMN appstore.history_coverage.covered_from IS
    'The start of the time around the beginning that was read without a hole; null while no window was. It moves back as the days of the past are read.';
COMMENT ON COLUMN appstore.history_coverage.covered_to IS 'The end of that time. A window that fails and is covered by no other holds it back.';
COMMENT ON COLUMN appstore.history_coverage.age IS 'How long ago that was; some 5 to 20 minutes.';
COMMENT ON COLUMN appstore.history_coverage.since IS 'How far back the history is read.';
COMMENT ON COLUMN appstore.history_coverage.edge IS 'Apple refused an earlier start as too far in the past; null while it has refused none.';
COMMENT ON COLUMN appstore.history_coverage.open_windows IS 'Windows that are not complete; history_gaps lists them.';
COMMENT ON COLUMN appstore.history_coverage.failing_since IS 'Since when the first of them that fails has failed.';
COMMENT ON COLUMN appstore.history_coverage.confirmed IS 'Records that were pushed and listed. This and the following counts contain aged records.';
COMMENT ON COLUMN appstore.history_coverage.recovered IS 'Records that were not pushed and that the history brought.';
COMMENT ON COLUMN appstore.history_coverage.taken_elsewhere IS
    'Records that were not pushed here, and to which another server has answered 200. Normal before the URL was moved here.';
COMMENT ON COLUMN appstore.history_coverage.refused_here IS 'Records whose event was rejected or failed.';
COMMENT ON COLUMN appstore.history_coverage.in_flight IS 'Records that were listed during an attempt, of which it is not known how it ended.';
COMMENT ON COLUMN appstore.history_coverage.unlisted IS 'Notifications that were pushed and that neither walk has listed.';
COMMENT ON COLUMN appstore.history_coverage.missed_by_both IS
    'An estimate of how many notifications came neither by push nor by the history: unlisted times those that were only listed, by confirmed. It '
    'supposes that the two fail independently. null while nothing is confirmed.';
