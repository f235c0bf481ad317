-- Extends a subscription.
-- appstore-inbox apple extend sends it as appstore_operator.
-- Returns one row: the call, which may be the earlier one of the same request; fails where an argument is wrong.
SELECT appstore.extend_renewal_date(:id::text, :days::integer, :reason::integer, :request_identifier::text, :bundle_id::text,
                                    :environment::text::appstore.environment) AS call_id;
