-- The worker may neither delete from the queue nor write outcomes: it can only settle queued events. One SET clause, since each costs time.
CREATE OR REPLACE FUNCTION appstore.settle(
    p_lanes bigint[], p_event_ids bigint[], p_sources text[], p_received_at timestamptz[], p_runs integer[], p_attempts integer[],
    p_results appstore.result[], p_reasons text[], p_last_errors text[], p_notification_types text[], p_subtypes text[],
    p_notification_uuids uuid[], p_environments text[], p_bundle_ids text[], p_transaction_ids text[], p_original_transaction_ids text[],
    p_odd_members text[] DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_settled   bigint;
    v_is_on     boolean;
    v_wants_raw boolean;
BEGIN
    DELETE FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (p_event_ids);
    GET DIAGNOSTICS v_settled = ROW_COUNT;
    IF v_settled <> cardinality(p_event_ids) THEN
        RAISE EXCEPTION '% of % events are not in the queue', cardinality(p_event_ids) - v_settled, cardinality(p_event_ids)
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF cardinality(p_lanes) > 0 THEN
        DELETE FROM appstore.batch_markers AS m WHERE m.lane = ANY (p_lanes);
    END IF;
    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
                                   notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id,
                                   original_transaction_id, odd_members)
    SELECT unnest(p_event_ids), unnest(p_sources), unnest(p_received_at), clock_timestamp(), unnest(p_runs), unnest(p_attempts),
           unnest(p_results), unnest(p_reasons), unnest(p_last_errors), unnest(p_notification_types), unnest(p_subtypes),
           unnest(p_notification_uuids), unnest(p_environments), unnest(p_bundle_ids), unnest(p_transaction_ids),
           unnest(p_original_transaction_ids),
           string_to_array(nullif(unnest(p_odd_members), ''), ' ');
    SELECT s.is_on, s.is_on AND s.wants_raw INTO v_is_on, v_wants_raw FROM appstore.feed_switch AS s;
    IF v_is_on AND 'failed' = ANY (p_results) THEN
        INSERT INTO appstore.tells (kind, ref)
        SELECT 'failed', settled.event_id::text FROM unnest(p_event_ids, p_results) AS settled (event_id, result) WHERE settled.result = 'failed';
    END IF;
    IF v_wants_raw THEN
        PERFORM appstore.tell_notifications(p_event_ids, p_sources, p_runs, p_results, p_reasons, p_notification_uuids);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.settle IS
    'Records the outcomes of events, takes them out of the queue, and removes the crash markers of these lanes: each event moves from the '
    'queue to the outcomes. Where the feed is on, it writes a tell for each that failed, and for notifications where an endpoint wants '
    'them. Fails when one of them is not in the queue. The arrays after p_lanes have an element for each event, p_runs those of the claim, '
    'since which the caller holds the rows; an element of p_odd_members has names with a space between '
    'them, or is empty, and the array may be null.';

CREATE OR REPLACE FUNCTION appstore.tell_notifications(
    p_event_ids bigint[], p_sources text[], p_runs integer[], p_results appstore.result[], p_reasons text[], p_notification_uuids uuid[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO appstore.tells (kind, ref)
    SELECT 'raw', s.event_id || ' ' || s.run
    FROM (SELECT u.*, appstore.told_as(u.result, u.reason, u.uuid) AS type
          FROM unnest(p_event_ids, p_sources, p_runs, p_results, p_reasons, p_notification_uuids)
              AS u (event_id, source, run, result, reason, uuid)) AS s
    WHERE s.source IN ('notification_v2', 'history_v2') AND s.type IS NOT NULL
      AND (s.run = 1 OR NOT EXISTS (
               SELECT FROM appstore.outcome_history AS h
               WHERE h.event_id = s.event_id AND appstore.told_as(h.result, h.reason, h.notification_uuid) IN (s.type, 'notification.received')
               OFFSET 0));
END
$$;
COMMENT ON FUNCTION appstore.tell_notifications IS
    'Writes a tell for each verified notification among these outcomes, unless an earlier run of the event was told so. Of copies, each that '
    'failed or was rejected is told; of all others one, since the rest are duplicates.';

-- Without a SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION appstore.told_as(result appstore.result, reason text, notification_uuid uuid) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN notification_uuid IS NULL THEN NULL -- nothing was verified
                WHEN result NOT IN ('rejected', 'duplicate', 'discarded') THEN 'notification.received'
                WHEN result = 'rejected' AND reason = 'wrong_bundle' THEN 'notification.rejected' END
$$;
COMMENT ON FUNCTION appstore.told_as IS
    'The type of the entry that tells of a notification with this outcome; null: none does.';
