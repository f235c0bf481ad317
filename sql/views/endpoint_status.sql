CREATE OR REPLACE VIEW appstore.endpoint_status AS
SELECT e.name, e.url, e.format, e.state, e.why, e.state_since, e.position, h.position - e.position AS lag,
       statement_timestamp() - coalesce(
           (SELECT f.told_at FROM appstore.open_deliveries AS d
            CROSS JOIN LATERAL (SELECT f.told_at FROM appstore.feed AS f WHERE f.position = d.position OFFSET 0) AS f
            WHERE d.endpoint = e.name AND d.given_up_at IS NULL ORDER BY d.position LIMIT 1),
           (SELECT f.told_at FROM appstore.feed AS f WHERE f.position = e.position + 1)) AS oldest_undelivered,
       (SELECT count(*) FROM (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = e.name AND d.given_up_at IS NULL LIMIT 10000) AS one) AS open,
       (SELECT count(*) FROM (SELECT FROM appstore.open_deliveries AS d
                              WHERE d.endpoint = e.name AND d.given_up_at IS NOT NULL LIMIT 10000) AS one) AS given_up,
       (SELECT count(*) FROM appstore.redeliveries AS r WHERE r.endpoint = e.name AND r.state = 'open') AS redeliveries,
       CASE WHEN e.open_until IS NULL THEN 'closed' ELSE 'open' END AS breaker, e.open_until AS next_probe_at, e.failures, e.failing_since,
       e.succeeded_at AS last_success_at, e.last_error, coalesce(e.leased_until > statement_timestamp(), false) AS is_leased
FROM appstore.endpoints AS e CROSS JOIN appstore.feed_head AS h;
COMMENT ON VIEW appstore.endpoint_status IS 'How each endpoint does. Counts stop at 10,000, which then means as many or more.';
COMMENT ON COLUMN appstore.endpoint_status.name IS 'The name of the endpoint.';
COMMENT ON COLUMN appstore.endpoint_status.url IS 'Where to POST.';
COMMENT ON COLUMN appstore.endpoint_status.format IS 'event or raw.';
COMMENT ON COLUMN appstore.endpoint_status.state IS 'enabled, paused, disabled or behind.';
COMMENT ON COLUMN appstore.endpoint_status.why IS 'Why it is not enabled.';
COMMENT ON COLUMN appstore.endpoint_status.state_since IS 'Since when it has this state.';
COMMENT ON COLUMN appstore.endpoint_status.position IS 'Up to where the feed was read for it.';
COMMENT ON COLUMN appstore.endpoint_status.lag IS 'How many entries follow, wanted or not.';
COMMENT ON COLUMN appstore.endpoint_status.oldest_undelivered IS 'Since when the oldest entry has waited that it has not got; null: none waits.';
COMMENT ON COLUMN appstore.endpoint_status.open IS 'Entries that failed or wait for one that did.';
COMMENT ON COLUMN appstore.endpoint_status.given_up IS 'Entries that were given up.';
COMMENT ON COLUMN appstore.endpoint_status.redeliveries IS 'Redeliveries that are open.';
COMMENT ON COLUMN appstore.endpoint_status.breaker IS 'closed; or open: only a probe is sent.';
COMMENT ON COLUMN appstore.endpoint_status.next_probe_at IS 'When the next probe is sent.';
COMMENT ON COLUMN appstore.endpoint_status.failures IS 'How many attempts in a row failed.';
COMMENT ON COLUMN appstore.endpoint_status.failing_since IS 'Since when no attempt succeeded; null while it works.';
COMMENT ON COLUMN appstore.endpoint_status.last_success_at IS 'When an attempt succeeded last.';
COMMENT ON COLUMN appstore.endpoint_status.last_error IS 'The error of the attempt that failed last.';
COMMENT ON COLUMN appstore.endpoint_status.is_leased IS 'Whether a worker serves it.';
