-- Reads how far redeliveries are.
-- appstore-inbox redeliver sends it as appstore_operator.
-- Returns a row for each of an endpoint, the newest first, or the one with a number.
SELECT r.redelivery_id, r.state, r.after, r.upto, r.sent
FROM appstore.redeliveries AS r
WHERE r.endpoint = :name::text /* null */ OR r.redelivery_id = :id::bigint /* null */
ORDER BY r.redelivery_id DESC;
