CREATE OR REPLACE FUNCTION appstore.repeat_call(call_id bigint, note text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_made bigint;
BEGIN
    -- Apple would extend twice.
    SELECT a.call_id INTO v_made
    FROM appstore.outbox AS c JOIN appstore.outbox AS a ON a.call_key = c.call_key AND a.kind = c.kind
    WHERE c.call_id = repeat_call.call_id AND c.kind IN ('extend_renewal_date', 'extend_for_all') AND a.state = 'answered';
    IF FOUND THEN
        RAISE EXCEPTION 'call % has made this extension', v_made
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Another extension needs another request_identifier.';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = 'open', reason = NULL, settled_at = NULL, run_at = clock_timestamp(), attempts = 0, last_reason = NULL, waits_for = NULL, repeats = 0,
        deadline_at = clock_timestamp() + (c.deadline_at - c.asked_at), asked_at = clock_timestamp()
    WHERE c.call_id = repeat_call.call_id AND c.state IN ('refused', 'given_up', 'discarded');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'call % is open, answered or unknown', call_id
            USING ERRCODE = 'no_data_found', HINT = 'appstore.outbox_status lists the calls.';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'repeat_call', '{}', repeat_call.note, jsonb_build_object('call_id', repeat_call.call_id));
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION 'another open call asks the same as call %', call_id
        USING ERRCODE = 'object_in_use', HINT = 'Wait until that call is settled.';
END
$$;
COMMENT ON FUNCTION appstore.repeat_call IS
    'Opens a call again that was refused, given up or discarded, with as much time until its deadline as it had at first. It fails with '
    'no_data_found for any other call, with object_in_use while another call with the same key is open, and with '
    'object_not_in_prerequisite_state for an extension that another call with its identifier has made.';
