-- Makes an endpoint, which gets what follows.
-- appstore-inbox endpoint create sends it as appstore_operator.
-- Returns the id from which its secrets are derived.
SELECT appstore.make_endpoint(:name::text, :url::text, :format::text, :types::text[], :bundle_ids::text[],
                              :environments::appstore.environment[], :with_wrong_bundle::boolean, :keeps_order::boolean,
                              :max_in_flight::integer, :max_per_second::integer, :timeout_seconds::integer) AS endpoint_id;
