-- Extends all active subscriptions to a product.
-- appstore-inbox apple extend-all sends it as appstore_operator.
-- Returns one row: the call, which may be the earlier one of the same request; fails where an argument is wrong.
SELECT appstore.extend_for_all(:id::text, :days::integer, :reason::integer, :storefronts::text[], :request_identifier::text, :bundle_id::text,
                               coalesce(:environment::text, 'Production')::appstore.environment) AS call_id;
