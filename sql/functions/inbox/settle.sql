-- The worker may neither delete from the queue nor write outcomes: it can only settle queued events. One SET clause, since each costs time.
CREATE FUNCTION appstore.settle(
    p_lanes bigint[], p_event_ids bigint[], p_sources text[], p_received_at timestamptz[], p_runs integer[], p_attempts integer[],
    p_results appstore.result[], p_reasons text[], p_last_errors text[], p_notification_types text[], p_subtypes text[],
    p_notification_uuids uuid[], p_environments text[], p_bundle_ids text[], p_transaction_ids text[], p_original_transaction_ids text[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_settled bigint;
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
                                   original_transaction_id)
    SELECT unnest(p_event_ids), unnest(p_sources), unnest(p_received_at), clock_timestamp(), unnest(p_runs), unnest(p_attempts),
           unnest(p_results), unnest(p_reasons), unnest(p_last_errors), unnest(p_notification_types), unnest(p_subtypes),
           unnest(p_notification_uuids), unnest(p_environments), unnest(p_bundle_ids), unnest(p_transaction_ids),
           unnest(p_original_transaction_ids);
    IF 'failed' = ANY (p_results) AND (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        INSERT INTO appstore.tells (kind, ref)
        SELECT 'failed', settled.event_id::text FROM unnest(p_event_ids, p_results) AS settled (event_id, result) WHERE settled.result = 'failed';
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.settle IS
    'Records the outcomes of events, takes them out of the queue, and removes the crash markers of these lanes: each event moves from the queue '
    'to the outcomes. Where the feed is on, it writes a tell for each that failed. Fails when one of them is not in the queue. The arrays after '
    'p_lanes have an element for each event.';
