CREATE OR REPLACE FUNCTION appstore.requeue_event(event_id bigint, note text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM appstore.inbox_queue AS q WHERE q.event_id = requeue_event.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE appstore.inbox_queue AS q SET run_at = clock_timestamp(), attempts = 0, is_isolated = false, deaths = 0
        WHERE q.event_id = requeue_event.event_id;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        VALUES (clock_timestamp(), appstore.actor(), 'requeue', ARRAY[requeue_event.event_id], requeue_event.note);
        RETURN 1;
    ELSIF EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = requeue_event.event_id) THEN
        RETURN appstore.repair_held(event_id);
    ELSIF appstore.repair_outcomes('requeue', ARRAY[event_id], 'infinity', '0', appstore.actor(), note, NULL) <> '{}' THEN
        RETURN 1;
    ELSIF NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = requeue_event.event_id) THEN
        RAISE EXCEPTION 'event % does not exist, or its body has been deleted', event_id
            USING ERRCODE = 'no_data_found', HINT = 'SELECT * FROM appstore.inbox_status WHERE event_id = … shows whether it has an outcome.';
    END IF;
    RETURN appstore.repair_held(event_id);
END
$$;
COMMENT ON FUNCTION appstore.requeue_event IS
    'Runs an event with any outcome again; an event that waits becomes due, as if it had never been tried. Returns 1, or 0 with a notice '
    'when a worker or another repair holds it. Fails when the event is unknown or its body was deleted.';
