CREATE OR REPLACE FUNCTION appstore.show_body(event_id bigint, reason text) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_body bytea;
BEGIN
    PERFORM appstore.check_argument(reason ~ '\S', 'the reason is empty', 'Write why the body is needed: the audit keeps it.');
    SELECT i.body INTO v_body FROM appstore.inbox AS i WHERE i.event_id = show_body.event_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'event % does not exist, or its body has been deleted', event_id USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
    VALUES (clock_timestamp(), appstore.actor(), 'show_body', ARRAY[show_body.event_id], show_body.reason);
    RETURN v_body;
END
$$;
COMMENT ON FUNCTION appstore.show_body IS
    'Returns the raw body of an event, which may name a person or a purchase, and records in the audit who read it and why. '
    'Fails where there is no such event, or its body was deleted.';
