-- Settles or postpones a leased call. (state = 'open') IS TRUE keeps the planner from an index of open calls: by statistics of a day without
-- any, that index seems cheaper than the primary key, and a cached plan would use it later as well.

CREATE OR REPLACE FUNCTION appstore.answer_call(call_id bigint, epoch bigint, bodies bytea[], answer jsonb DEFAULT NULL, next bytea DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_bodies integer := coalesce(cardinality(bodies), 0);
    v_kind   text;
    v_source text;
    v_events bigint[] := '{}';
BEGIN
    -- A worker can only answer a call under the latest lease. Apple's answer itself cannot be checked here.
    SELECT c.kind INTO v_kind FROM appstore.outbox AS c
    WHERE c.call_id = answer_call.call_id AND c.epoch = answer_call.epoch AND (c.state = 'open') IS TRUE AND c.is_leased FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT k.source INTO v_source FROM appstore.call_kinds AS k WHERE k.kind = v_kind;
    PERFORM appstore.check_argument(FOUND, format('a call of kind %s has no answer', v_kind), 'appstore.call_kinds lists the kinds.');
    PERFORM appstore.check_argument(
        CASE WHEN v_source IS NULL THEN v_bodies = 0 ELSE v_bodies > 0 OR answer_call.answer IS NOT NULL END,
        format('a call of kind %s is answered with %s bodies', v_kind, v_bodies),
        'There are bodies only where appstore.call_kinds names a source, and there an answer without any has something else to say.');
    IF v_bodies > 0 THEN
        v_events := ARRAY(SELECT stored.event_id FROM appstore.store(v_source, bodies) AS stored (event_id));
    END IF;
    UPDATE appstore.outbox AS c
    SET is_leased = false, last_reason = NULL, repeats = 0, answer = answer_call.answer,
        answer_event_ids = (c.answer_event_ids || v_events)[1:1000],
        state = CASE WHEN answer_call.next IS NULL THEN 'answered' ELSE 'open' END,
        settled_at = CASE WHEN answer_call.next IS NULL THEN clock_timestamp() END,
        answer_event_id = CASE WHEN answer_call.next IS NULL THEN (c.answer_event_ids || v_events)[1] END,
        -- With more pages to come it is due at once, and begins a new count of what fails.
        attempts = CASE WHEN answer_call.next IS NULL THEN c.attempts + 1 ELSE 0 END,
        waits_for = CASE WHEN answer_call.next IS NULL THEN c.waits_for END,
        run_at = CASE WHEN answer_call.next IS NULL THEN c.run_at ELSE clock_timestamp() END,
        payload = coalesce(answer_call.next, c.payload)
    WHERE c.call_id = answer_call.call_id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.answer_call IS
    'Stores the bodies of an answer as events, of the source that appstore.call_kinds names for the kind of the call, with what else it says, and '
    'settles the call. Where next is given the answer has more pages: the call stays open, and next is the payload with which it goes on. Returns '
    'false, without effect, when the lease of that epoch has been lost.';

CREATE OR REPLACE FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) RETURNS boolean
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

CREATE OR REPLACE FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval, counts_attempt boolean DEFAULT true) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.outbox AS c
    SET is_leased = false, run_at = clock_timestamp() + postpone_call.delay,
        attempts = c.attempts + CASE WHEN postpone_call.counts_attempt THEN 1 ELSE 0 END,
        waits_for = postpone_call.reason,
        repeats = CASE WHEN NOT postpone_call.counts_attempt THEN c.repeats WHEN c.last_reason = postpone_call.reason THEN c.repeats + 1 ELSE 1 END,
        last_reason = CASE WHEN postpone_call.counts_attempt THEN postpone_call.reason ELSE c.last_reason END
    WHERE c.call_id = postpone_call.call_id AND c.epoch = postpone_call.epoch AND (c.state = 'open') IS TRUE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM appstore.fall_back(ARRAY[postpone_call.call_id]);
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.postpone_call IS
    'Ends an attempt that had no answer: the call is due again after delay, and its fallback is used meanwhile. counts_attempt: false where the call '
    'is not the cause, such as a 429. Returns false, without effect, when the lease of that epoch has been lost.';
