-- Reads the next page of settled events.
-- appstore-inbox tail sends it until a page is not full. :result, :type and :app are null for any.
-- Returns up to :limit rows, in the order of (settled_at, event_id); until is null where nothing ends.
SELECT e.settled_at, e.event_id, e.run, e.received_at, e.source, e.notification_type, e.subtype, e.environment, e.bundle_id,
       e.result::text AS result, e.reason, e.transaction_id, e.original_transaction_id, e.user_id, e.product_id,
       coalesce(e.entitlements, '{}') AS entitlements, nullif(e.until, 'infinity') AS until, e.until = 'infinity' AS is_endless,
       e.until > statement_timestamp() AS is_active
FROM appstore.settled_events(:settled_from::timestamptz, :after_event_id::bigint, :limit::integer, :result::appstore.result /* null */,
                             :type::text /* null */, :app::text /* null */) AS e
ORDER BY e.settled_at, e.event_id;
