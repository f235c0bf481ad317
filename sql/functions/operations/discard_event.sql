CREATE OR REPLACE FUNCTION appstore.discard_event(event_id bigint, reason text /* null */) RETURNS bigint
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
    ELSIF appstore.repair_outcomes('discard', ARRAY[event_id], 'infinity', '0', appstore.actor(), reason, NULL) = '{}' THEN
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
