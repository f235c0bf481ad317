-- Finds events for a page of the console, the latest first.
-- The console sends it.
-- Returns up to :limit rows as JSON objects; place is where the next page goes on: the microseconds of settled_at, a dot, the event.
SELECT (to_jsonb(e) || jsonb_build_object(
           'place', coalesce((extract(epoch FROM e.settled_at) * 1000000)::bigint, 0) || '.' || e.event_id)) AS document
FROM appstore.find_events(
    jsonb_populate_record(NULL::appstore.repair_filter, :filter::jsonb), :source::text /* null */, :original_transaction_id::text /* null */,
    :notification_uuid::uuid /* null */, :is_waiting::boolean,
    before_at => coalesce('epoch'::timestamptz + :before_microseconds::bigint /* null */ * interval '1 microsecond', 'infinity'),
    before_event_id => coalesce(:before_event_id::bigint /* null */, 0), max_rows => :limit::integer) AS e;
