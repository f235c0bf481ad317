-- Takes requests from the budget of an app, an environment and an endpoint of the App Store Server API.
-- A worker sends it before it asks Apple, for at most a second's worth.
-- Returns one row: how many were granted; if none, the milliseconds until the class may ask again, and whether a 429 is the reason.
SELECT b.granted, ceil(extract(epoch FROM b.wait) * 1000)::bigint AS wait_milliseconds, b.is_blocked
FROM appstore.take_api_budget(:bundle_id::text, :environment::appstore.environment, :endpoint::text, :setting::double precision,
                              :class::integer, :wanted::integer) AS b;
