CREATE OR REPLACE FUNCTION appstore.fall_back(calls bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_call  record;
    v_event bigint;
BEGIN
    FOR v_call IN
        SELECT c.call_id, c.fallback_source, c.event_id FROM appstore.outbox AS c
        WHERE c.call_id = ANY (fall_back.calls) AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
        ORDER BY c.call_id FOR UPDATE
    LOOP
        v_event := (
            SELECT appstore.store(v_call.fallback_source, ARRAY[
                convert_to(json_build_object('receiptData', convert_from(i.body, 'UTF8')::json ->> 'receiptData')::text, 'UTF8')])
            FROM appstore.inbox AS i WHERE i.event_id = v_call.event_id);
        -- Without the body there is no fallback: otherwise appstore.expire_calls would select the call each time.
        UPDATE appstore.outbox AS c
        SET fallback_event_id = v_event, fallback_source = CASE WHEN v_event IS NOT NULL THEN c.fallback_source END
        WHERE c.call_id = v_call.call_id;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.fall_back IS
    'Uses a receipt about which Apple has not answered as it is: stores it as an event of the call''s fallback_source, without the '
    'user who posted it. Once for each call, whatever its later state.';
