CREATE OR REPLACE FUNCTION appstore.discard_event(event_id bigint, reason text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_queued appstore.inbox_queue;
BEGIN
    IF coalesce(btrim(reason), '') = '' THEN
        RAISE EXCEPTION 'a discard needs a reason' USING ERRCODE = 'invalid_parameter_value', HINT = 'It becomes the reason of the outcome.';
    END IF;
    SELECT q.* INTO v_queued FROM appstore.inbox_queue AS q WHERE q.event_id = discard_event.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(), v_queued.run, v_queued.attempts, 'discarded', discard_event.reason,
               v_queued.last_error
        FROM appstore.inbox AS i WHERE i.event_id = discard_event.event_id;
        DELETE FROM appstore.inbox_queue AS q WHERE q.event_id = discard_event.event_id;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        VALUES (clock_timestamp(), appstore.actor(), 'discard', ARRAY[discard_event.event_id], discard_event.reason);
    ELSIF EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = discard_event.event_id) THEN
        RETURN appstore.repair_held(event_id);
    ELSIF appstore.repair_outcomes('discard', ARRAY[event_id], 'infinity', '0', reason, NULL) = '{}' THEN
        RAISE EXCEPTION 'event % is neither waiting nor failed, rejected or unhandled', event_id USING ERRCODE = 'no_data_found', HINT =
            coalesce((SELECT format('Its result is %s, which a discard cannot undo.', o.result)
                      FROM appstore.outcomes AS o WHERE o.event_id = discard_event.event_id), 'There is no such event.');
    END IF;
    RETURN 1;
END
$$;
COMMENT ON FUNCTION appstore.discard_event IS
    'Discards an event that waits, failed, was rejected or unhandled: it does not run again. Its body may be gone. Returns 1, or 0 with a notice '
    'when a worker holds it. The reason is kept for ever: appstore.forget does not erase it.';

CREATE OR REPLACE FUNCTION appstore.discard_events(
    why text, result appstore.result DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment appstore.environment DEFAULT NULL, bundle_id text DEFAULT NULL, received_from timestamptz DEFAULT NULL,
    received_before timestamptz DEFAULT NULL, max_events integer DEFAULT 1000, dry_run boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.repair_events(
        'discard', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before),
        max_events, dry_run, why);
END
$$;
COMMENT ON FUNCTION appstore.discard_events IS
    'Discards the failed, rejected and unhandled events that meet every given condition, at most max_events (1 to 1,000), and returns how many. '
    'why becomes their reason. dry_run only counts them, all of them when max_events is null. appstore.discard_all takes all.';

CREATE OR REPLACE PROCEDURE appstore.discard_all(
    why text, result appstore.result DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment appstore.environment DEFAULT NULL, bundle_id text DEFAULT NULL, received_from timestamptz DEFAULT NULL,
    received_before timestamptz DEFAULT NULL)
LANGUAGE plpgsql AS $$
BEGIN
    CALL appstore.repair_all(
        'discard', ROW(result, reason, notification_type, subtype, environment, bundle_id, received_from, received_before), why);
END
$$;
COMMENT ON PROCEDURE appstore.discard_all IS
    'Discards all failed, rejected and unhandled events that meet every given condition and were settled before the call. It commits every 1,000 '
    'events and can be ended and repeated. Call it outside of a transaction and without a statement_timeout.';
