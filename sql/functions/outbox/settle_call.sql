-- Settles or postpones a leased call. (state = 'open') IS TRUE keeps the planner from an index of open calls: by statistics of a day without
-- any, that index seems cheaper than the primary key, and a cached plan would use it later as well.

CREATE FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_kind  text;
    v_event bigint;
BEGIN
    PERFORM appstore.check_argument(source = 'verify_receipt', format('source %L is not an answer to a call', source), 'It is the kind of the call.');
    -- A worker can only answer a call under the latest lease. Apple's answer itself cannot be checked here.
    SELECT c.kind INTO v_kind FROM appstore.outbox AS c
    WHERE c.call_id = answer_call.call_id AND c.epoch = answer_call.epoch AND (c.state = 'open') IS TRUE AND c.is_leased FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM appstore.check_argument(v_kind = source, format('a call of kind %s has no answer of source %s', v_kind, source),
                                    'It is the kind of the call.');
    v_event := (SELECT appstore.store(source, ARRAY[body]));
    UPDATE appstore.outbox AS c
    SET state = 'answered', settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1, last_reason = NULL, repeats = 0,
        answer_event_id = v_event
    WHERE c.call_id = answer_call.call_id;
    RETURN v_event;
END
$$;
COMMENT ON FUNCTION appstore.answer_call IS
    'Stores the answer to a call as an event and settles the call; returns the event''s id, or null, without effect, when the lease of that epoch '
    'has been lost. source must be the kind of the call.';

CREATE FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_argument(state IN ('refused', 'given_up'), format('state %L does not end a call without an answer', state),
                                    'States are refused and given_up.');
    UPDATE appstore.outbox AS c
    SET state = end_call.state, reason = end_call.reason, settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1
    WHERE c.call_id = end_call.call_id AND c.epoch = end_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF falls_back THEN
        PERFORM appstore.fall_back(ARRAY[end_call.call_id]);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.end_call IS
    'Settles a call without an answer, and uses its fallback unless Apple refused the receipt. Returns false, without effect, when the lease of '
    'that epoch has been lost.';

CREATE FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.outbox AS c
    SET is_leased = false, run_at = clock_timestamp() + postpone_call.delay, attempts = c.attempts + 1,
        repeats = CASE WHEN c.last_reason = postpone_call.reason THEN c.repeats + 1 ELSE 1 END, last_reason = postpone_call.reason
    WHERE c.call_id = postpone_call.call_id AND c.epoch = postpone_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM appstore.fall_back(ARRAY[postpone_call.call_id]);
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.postpone_call IS
    'Ends an attempt that had no answer: the call is due again after delay, and its fallback is used meanwhile. Returns false, without effect, when '
    'the lease of that epoch has been lost.';
