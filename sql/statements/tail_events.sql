-- Reads the next page of settled events, after or before a place.
-- appstore-inbox tail sends it: first for the last events, the latest first; then for new ones, the oldest first, until a page is not full.
-- Returns up to :limit rows, of which those without is_found say only how far the search has come; until is null where nothing ends.
SELECT e.settled_at, e.event_id, e.run, e.received_at, e.source, e.notification_type, e.subtype, e.environment, e.bundle_id,
       e.result::text AS result, e.reason, e.transaction_id, e.original_transaction_id, e.user_id, e.product_id,
       coalesce(e.entitlements, '{}') AS entitlements, nullif(e.until, 'infinity') AS until, e.until = 'infinity' AS is_endless,
       e.is_active, e.is_found, e.is_cut
FROM appstore.find_events(
    jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), oldest_first => :oldest_first::boolean,
    after_at => coalesce(:after_at::timestamptz /* null */, '-infinity'), after_event_id => coalesce(:after_event_id::bigint /* null */, 0),
    before_at => coalesce(:before_at::timestamptz /* null */, 'infinity'), before_event_id => coalesce(:before_event_id::bigint /* null */, 0),
    max_rows => :limit::integer) AS e;
