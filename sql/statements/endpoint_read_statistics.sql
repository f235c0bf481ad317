-- Reads how far endpoints and named consumers of the feed are.
-- A worker sends it every few seconds for its metrics.
-- Returns one row of arrays: an element for each endpoint, and one for each consumer.
SELECT s.names, s.states, s.lags, s.oldest, s.open, s.given_up, c.consumers, c.consumer_lags
FROM (SELECT coalesce(array_agg(e.name ORDER BY e.name), '{}') AS names, coalesce(array_agg(e.state ORDER BY e.name), '{}') AS states,
             coalesce(array_agg(e.lag ORDER BY e.name), '{}') AS lags,
             coalesce(array_agg(e.oldest_undelivered_seconds::float8 ORDER BY e.name), '{}') AS oldest,
             coalesce(array_agg(e.open_deliveries ORDER BY e.name), '{}') AS open,
             coalesce(array_agg(e.given_up ORDER BY e.name), '{}') AS given_up
      FROM appstore.endpoint_statistics() AS e) AS s
CROSS JOIN (SELECT coalesce(array_agg(f.name ORDER BY f.name), '{}') AS consumers,
                   coalesce(array_agg(f.lag ORDER BY f.name), '{}') AS consumer_lags
            FROM appstore.consumer_statistics() AS f) AS c;
