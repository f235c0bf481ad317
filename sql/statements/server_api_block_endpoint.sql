-- Blocks an endpoint of the App Store Server API for an app in an environment after a 429.
-- A worker sends it with the delay that Apple asks for, null where it asks for none.
-- Returns one row without a value.
SELECT appstore.block_api_endpoint(:bundle_id::text, :environment::appstore.environment, :endpoint::text,
                                   :delay_milliseconds::bigint * interval '1 millisecond');
