-- The outbox: calls that are to be made, written in the transaction that wants them and made by a worker outside any transaction. At least
-- once: whoever is asked may be asked twice, but the answer is taken once.
--
-- A worker leases a call: run_at moves to the lease's end and epoch is counted up. Who comes back with an older epoch is late, somebody else has
-- the call, and is refused; a worker that dies needs no rescue, for its call is due again when the lease ends.
CREATE TABLE appstore.outbox (
    call_id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind            text        NOT NULL,
    call_key        text        NOT NULL,               -- what is asked; one open call for each
    bundle_id       text        NOT NULL,
    event_id        bigint,                             -- whose body the call is made of
    asked_by        bigint[]    NOT NULL DEFAULT '{}',  -- the events that asked, a hundred or so; any body of theirs would do
    payload         bytea,                              -- what it is made of otherwise; never a secret
    asked_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline_at     timestamptz NOT NULL,
    run_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_leased       boolean     NOT NULL DEFAULT false,
    epoch           bigint      NOT NULL DEFAULT 0,     -- leases so far
    attempts        integer     NOT NULL DEFAULT 0,     -- that ended, however
    last_reason     text,
    repeats         integer     NOT NULL DEFAULT 0,     -- how often in a row it was last_reason
    state           text        NOT NULL DEFAULT 'open',
    reason          text,
    settled_at      timestamptz,
    answer_event_id bigint,
    fallback_source text,                               -- as which the event's body enters the inbox again where there is no answer
    fallback_event_id bigint,
    CONSTRAINT outbox_kind_is_a_name CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT outbox_key_is_short CHECK (octet_length(call_key) BETWEEN 1 AND 255),
    CONSTRAINT outbox_made_of_something CHECK (event_id IS NOT NULL OR payload IS NOT NULL),
    CONSTRAINT outbox_payload_within_limits CHECK (octet_length(payload) <= 4194304),
    -- open can become any other; answered, refused (no later answer would be another one), given_up (its time was over) and discarded are ends.
    CONSTRAINT outbox_state_is_known CHECK (state IN ('open', 'answered', 'refused', 'given_up', 'discarded')),
    CONSTRAINT outbox_settled_in_the_end CHECK ((state = 'open') = (settled_at IS NULL) AND (state = 'open' OR NOT is_leased)),
    CONSTRAINT outbox_reason_where_needed CHECK (reason IS NOT NULL OR state IN ('open', 'answered')),
    CONSTRAINT outbox_answer_of_the_answered CHECK (answer_event_id IS NULL OR state = 'answered'),
    CONSTRAINT outbox_fallback_is_a_source CHECK (fallback_source ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT outbox_fallback_where_wanted CHECK (fallback_event_id IS NULL OR fallback_source IS NOT NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- What is due, leased calls at the end of their lease: of each app and kind apart, for a worker does not make all of them, and what nobody
-- makes is not to be in the way of the rest. Those that wait longest. And one open call for each key.
CREATE INDEX outbox_due ON appstore.outbox (bundle_id, kind, run_at, call_id) WHERE state = 'open';
CREATE INDEX outbox_oldest ON appstore.outbox (asked_at, call_id) WHERE state = 'open';
CREATE UNIQUE INDEX outbox_open ON appstore.outbox (call_key, kind) WHERE state = 'open'; -- kind last: it is not to do for outbox_due
CREATE INDEX outbox_of_event ON appstore.outbox (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX outbox_of_answer ON appstore.outbox (answer_event_id) WHERE answer_event_id IS NOT NULL;
CREATE INDEX outbox_answered ON appstore.outbox (kind, call_key, settled_at) WHERE state = 'answered';
CREATE INDEX outbox_by_key ON appstore.outbox (call_key, kind, call_id);
-- Calls that somebody waits for and that nobody has tried.
CREATE INDEX outbox_awaited ON appstore.outbox (asked_at, call_id)
    WHERE state = 'open' AND fallback_source IS NOT NULL AND fallback_event_id IS NULL;
CREATE INDEX outbox_settled ON appstore.outbox (settled_at, call_id) WHERE state <> 'open';

-- Where a call has no answer, or none yet, its receipt speaks for itself: it enters the inbox once more, under the call's fallback source and
-- without whoever posted it. Once for each call, whatever becomes of it later.
CREATE FUNCTION appstore.fall_back(calls bigint[]) RETURNS void
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
        WITH stored AS (
            INSERT INTO appstore.inbox (source, received_at, body)
            SELECT v_call.fallback_source, clock_timestamp(),
                   convert_to(json_build_object('receiptData', convert_from(i.body, 'UTF8')::json ->> 'receiptData')::text, 'UTF8')
            FROM appstore.inbox AS i WHERE i.event_id = v_call.event_id
            RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
        )
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
        RETURNING inbox_ready.event_id INTO v_event;
        UPDATE appstore.outbox AS c SET fallback_event_id = v_event WHERE c.call_id = v_call.call_id;
    END LOOP;
END
$$;

-- The same for calls whose answers cannot be used.
CREATE FUNCTION appstore.fall_back_from(answers bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT appstore.fall_back(ARRAY(SELECT c.call_id FROM appstore.outbox AS c WHERE c.answer_event_id = ANY (fall_back_from.answers)))
$$;

-- After an attempt that had no answer: the next one, and meanwhile the fallback. False, and nothing else, for who is late.
CREATE FUNCTION appstore.postpone_call(call_id bigint, epoch bigint, reason text, delay interval) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.outbox AS c
    SET is_leased = false, run_at = clock_timestamp() + postpone_call.delay, attempts = c.attempts + 1,
        repeats = CASE WHEN c.last_reason = postpone_call.reason THEN c.repeats + 1 ELSE 1 END, last_reason = postpone_call.reason
    WHERE c.call_id = postpone_call.call_id AND c.epoch = postpone_call.epoch AND c.state = 'open';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM appstore.fall_back(ARRAY[postpone_call.call_id]);
    RETURN true;
END
$$;

-- After the last attempt: refused or given up; with the fallback, unless what was asked about was denied. False for who is late.
CREATE FUNCTION appstore.end_call(call_id bigint, epoch bigint, state text, reason text, falls_back boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF state IS NULL OR state NOT IN ('refused', 'given_up') THEN
        RAISE EXCEPTION 'state % is no end of a call without an answer', quote_nullable(state) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = end_call.state, reason = end_call.reason, settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1
    WHERE c.call_id = end_call.call_id AND c.epoch = end_call.epoch AND c.state = 'open';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF falls_back THEN
        PERFORM appstore.fall_back(ARRAY[end_call.call_id]);
    END IF;
    RETURN true;
END
$$;

-- Takes an answer into the inbox and settles its call, at once; null, and nothing else, for who is late. An answer has the kind of its call
-- for a source; what is in it is the worker's word, for nobody else has heard it.
CREATE FUNCTION appstore.answer_call(call_id bigint, epoch bigint, source text, body bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_kind  text;
    v_event bigint;
BEGIN
    IF source IS DISTINCT FROM 'verify_receipt' THEN
        RAISE EXCEPTION 'source % is no answer to a call', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT c.kind INTO v_kind FROM appstore.outbox AS c
    WHERE c.call_id = answer_call.call_id AND c.epoch = answer_call.epoch AND c.state = 'open' AND c.is_leased FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    ELSIF v_kind <> source THEN
        RAISE EXCEPTION 'a call of kind % has no answer of source %', v_kind, source USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES (answer_call.source, clock_timestamp(), answer_call.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id INTO v_event;
    UPDATE appstore.outbox AS c
    SET state = 'answered', settled_at = clock_timestamp(), is_leased = false, attempts = c.attempts + 1, last_reason = NULL, repeats = 0,
        answer_event_id = v_event
    WHERE c.call_id = answer_call.call_id;
    RETURN v_event;
END
$$;

-- Opens a call again that was refused, given up or discarded, with a new deadline as far away as its first one was.
CREATE FUNCTION appstore.repeat_call(call_id bigint, note text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF EXISTS (SELECT FROM appstore.outbox AS c JOIN appstore.outbox AS other ON other.kind = c.kind AND other.call_key = c.call_key
               WHERE c.call_id = repeat_call.call_id AND other.call_id <> c.call_id AND other.state = 'open') THEN
        RAISE EXCEPTION 'another call asks the same as call % and is open', call_id USING ERRCODE = 'object_in_use';
    END IF;
    UPDATE appstore.outbox AS c
    SET state = 'open', reason = NULL, settled_at = NULL, run_at = clock_timestamp(), attempts = 0, last_reason = NULL, repeats = 0,
        deadline_at = clock_timestamp() + (c.deadline_at - c.asked_at), asked_at = clock_timestamp()
    WHERE c.call_id = repeat_call.call_id AND c.state IN ('refused', 'given_up', 'discarded');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'call % is open, answered or unknown', call_id USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'repeat_call', '{}', repeat_call.note, jsonb_build_object('call_id', repeat_call.call_id));
END
$$;

-- Lets the fallback speak for calls that have had no attempt for a minute: whoever could make them is busy or away, and customers wait. Gives
-- up the calls that nobody has taken for an hour after their deadline, for who takes one then makes a last attempt and gives it up himself;
-- deletes settled calls a month after. At most 500 of each at once; returns how many.
CREATE FUNCTION appstore.age_calls() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    v_awaited  bigint[];
    v_given_up bigint;
    v_deleted  bigint;
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN 0;
    END IF;
    v_awaited := ARRAY(SELECT c.call_id FROM appstore.outbox AS c
                       WHERE c.state = 'open' AND c.fallback_source IS NOT NULL AND c.fallback_event_id IS NULL
                         AND c.asked_at < statement_timestamp() - interval '1 minute'
                       ORDER BY c.asked_at, c.call_id LIMIT 500 FOR UPDATE SKIP LOCKED);
    PERFORM appstore.fall_back(v_awaited);
    UPDATE appstore.outbox AS c
    SET state = 'given_up', reason = 'no_worker', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state = 'open' AND old.deadline_at < statement_timestamp() - interval '1 hour'
                                   AND old.run_at < statement_timestamp() - interval '1 hour'
                                 LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_given_up = ROW_COUNT;
    DELETE FROM appstore.outbox AS c
    WHERE c.call_id = ANY (ARRAY(SELECT old.call_id FROM appstore.outbox AS old
                                 WHERE old.state <> 'open' AND old.settled_at < clock_timestamp() - interval '30 days'
                                 ORDER BY old.settled_at, old.call_id LIMIT 500 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    RETURN cardinality(v_awaited) + v_given_up + v_deleted;
END
$$;

-- Calls as people look at them: without what is sent. One that has been due for a minute waits for nothing but somebody to make it: no
-- worker has its app's secret, or all that have one are busy or away.
CREATE VIEW appstore.outbox_status AS
SELECT c.call_id, c.kind, c.bundle_id, c.event_id, c.state, c.reason,
       CASE WHEN c.state = 'open' AND c.run_at < statement_timestamp() - interval '1 minute' THEN 'no_worker'
            WHEN c.state = 'open' THEN c.last_reason END AS waits_for, c.attempts, c.asked_at,
       CASE WHEN c.state = 'open' THEN c.run_at END AS next_run_at, c.is_leased, c.deadline_at, c.settled_at, c.answer_event_id,
       c.fallback_event_id
FROM appstore.outbox AS c;

-- What is known of a receipt that Apple is asked about: whether it is still to be waited for, for nobody has answered and it does not speak for
-- itself, or what was said is not in the books yet; and why Apple denied it, if so. No row where nobody was asked.
CREATE FUNCTION appstore.api_receipt_question(call_key text) RETURNS TABLE (is_open boolean, denied_because text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN coalesce(c.fallback_event_id, c.answer_event_id) IS NOT NULL
                THEN NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id IN (c.answer_event_id, c.fallback_event_id))
                ELSE c.state = 'open' END,
           CASE WHEN c.state = 'refused' AND c.fallback_event_id IS NULL THEN c.reason END
    FROM appstore.outbox AS c
    WHERE c.call_key = api_receipt_question.call_key AND c.kind = 'verify_receipt'
    ORDER BY c.call_id DESC
    LIMIT 1
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE ON appstore.outbox TO appstore_worker;
GRANT SELECT ON appstore.outbox_status TO appstore_operator, appstore_viewer, appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.answer_call(bigint, bigint, text, bytea), appstore.postpone_call(bigint, bigint, text, interval),
                          appstore.end_call(bigint, bigint, text, text, boolean), appstore.fall_back_from(bigint[]), appstore.age_calls()
    TO appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.repeat_call(bigint, text) TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.api_receipt_question(text) TO appstore_api;
