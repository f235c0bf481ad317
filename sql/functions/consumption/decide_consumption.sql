CREATE OR REPLACE FUNCTION appstore.decide_consumption(
    environment appstore.environment, transaction_id text, answer appstore.consumption_answer, origin text, actor text,
    OUT refusal text, OUT message text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_key     text := decide_consumption.environment || '/' || decide_consumption.transaction_id;
    v_answer  appstore.consumption_answer := decide_consumption.answer;
    v_request appstore.consumption_obligations;
    v_sold    appstore.transactions;
    v_last    appstore.consumption_decisions;
    v_consent appstore.consents;
    v_user    text;
    v_call    bigint;
BEGIN
    PERFORM appstore.demand_read_committed(), appstore.check_environment(environment);
    -- The deadline passes once: the decision must be on disk before the backend believes that it is made.
    PERFORM appstore.begin_to_store();

    -- 1. The request. Its row is locked, so that a decision of Apple's that is merged concurrently is seen here, or discards the call.
    SELECT c.* INTO v_request FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = decide_consumption.transaction_id AND c.environment = decide_consumption.environment FOR UPDATE;
    SELECT t.* INTO v_sold FROM appstore.transactions AS t
    WHERE t.transaction_id = decide_consumption.transaction_id AND t.environment = decide_consumption.environment;
    SELECT d.* INTO v_last FROM appstore.consumption_decisions AS d
    WHERE d.transaction_id = decide_consumption.transaction_id AND d.environment = decide_consumption.environment
      AND d.decided_at >= v_request.asked_at
    ORDER BY d.decided_at DESC, d.decision_id DESC LIMIT 1; -- by decision_id alone, the planner might read all decisions in its order
    IF NOT v_answer.consented THEN
        v_answer := ROW(false, NULL, NULL, NULL, NULL, v_answer.evidence, NULL);
    ELSIF decide_consumption.origin = 'policy' AND v_sold.is_subscription AND NOT v_request.is_advanced_commerce THEN
        v_answer.percentage := NULL;
    END IF;
    IF v_request.outcome IS NULL AND v_last.answer = v_answer AND (v_last.result IS NULL OR v_last.result = 'answered') THEN
        RETURN; -- the same decision again
    END IF;
    SELECT refused.code, refused.message INTO refusal, message
    FROM (VALUES
        (1, 'not_asked', v_request.asked_at IS NULL OR v_sold.transaction_id IS NULL,
         format('Apple has not asked about transaction %s in %s', quote_nullable(decide_consumption.transaction_id),
                decide_consumption.environment)),
        (2, 'apple_decided', v_request.outcome IS NOT NULL, format('Apple has decided about the refund: %s', v_request.outcome)),
        (3, 'answered', v_last.result = 'answered', 'Apple has taken an answer to this request'),
        (4, 'past_due', v_request.due_at <= clock_timestamp(), format('the answer was due at %s', v_request.due_at)),
        (5, 'consent', v_answer.consented IS NULL, 'consented must be true or false: nothing is assumed (4000035)'),
        (6, 'evidence', char_length(v_answer.evidence) NOT BETWEEN 1 AND 1000, 'evidence must have 1 to 1000 characters'),
        (7, 'policy_off', v_answer.consented AND coalesce((appstore.consumption_policy(v_sold.bundle_id, v_sold.product_id)).mode, 'off') = 'off',
         format('appstore.consumption_policies has nothing sent about product %s of %s', v_sold.product_id, v_sold.bundle_id))
    ) AS refused (place, code, is_so, message)
    WHERE refused.is_so ORDER BY refused.place LIMIT 1;

    -- 2. Apple's rules. Without consent nothing is sent, so they do not matter.
    IF refusal IS NULL AND v_answer.consented THEN
        SELECT broken.rule, broken.message INTO refusal, message
        FROM appstore.consumption_violation(v_answer, v_sold.is_subscription, v_sold.in_app_ownership_type, v_request.is_advanced_commerce)
             AS broken;
    END IF;

    -- 3. The user's consent, which cannot be withdrawn between this check and the commit.
    v_user := appstore.owner_of(
        (SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = v_sold.order_no AND o.environment = decide_consumption.environment),
        (SELECT m.user_id FROM appstore.contracts AS m
         WHERE m.original_transaction_id = v_request.original_transaction_id AND m.environment = decide_consumption.environment));
    IF refusal IS NULL AND v_answer.consented THEN
        SELECT k.* INTO v_consent FROM appstore.consents AS k WHERE k.user_id = v_user
        ORDER BY k.withdrawn_at DESC NULLS FIRST LIMIT 1 FOR SHARE;
        IF v_consent.withdrawn_at IS NOT NULL THEN
            refusal := 'consent_withdrawn';
            message := format('the user withdrew the consent at %s: only appstore.give_consent makes it good again (4000035)',
                              v_consent.withdrawn_at);
        ELSIF v_consent.consent_id IS NULL AND v_answer.evidence IS NULL THEN
            refusal := 'consent_unknown';
            message := 'appstore.consents has no consent of the user, and evidence does not say how it was given (4000035)';
        END IF;
    END IF;
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;

    -- 4. The decision and its call. An earlier call that was not sent is replaced.
    -- IS TRUE: as in settle_call.sql.
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'replaced', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_key = v_key AND o.kind = 'consumption' AND (o.state = 'open') IS TRUE;
    IF v_answer.consented THEN
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, environment, priority, deadline_at, payload)
        VALUES ('consumption', v_key, v_sold.bundle_id, decide_consumption.environment, 0, v_request.due_at,
                convert_to(jsonb_build_object(
                    'transactionId', decide_consumption.transaction_id, 'version', CASE WHEN v_request.is_advanced_commerce THEN 1 ELSE 2 END,
                    'askedAt', floor(extract(epoch FROM v_request.asked_at) * 1000)::bigint,
                    'body', appstore.consumption_body(v_answer, v_sold.app_account_token, v_request.is_advanced_commerce))::text, 'UTF8'))
        RETURNING call_id INTO v_call;
    END IF;
    INSERT INTO appstore.consumption_decisions (environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id)
    VALUES (decide_consumption.environment, decide_consumption.transaction_id, greatest(clock_timestamp(), v_request.asked_at), actor,
            decide_consumption.origin, v_user, v_answer, v_call);
END
$$;
COMMENT ON FUNCTION appstore.decide_consumption IS
    'Decides how a request is answered: writes the decision and the call that sends it, or returns why not, which is a state of the request or a rule '
    'that the answer breaks. The same decision again changes nothing.';

CREATE OR REPLACE FUNCTION appstore.answer_consumption(
    environment appstore.environment, transaction_id text, consented boolean /* null */, delivery text DEFAULT NULL, sample boolean DEFAULT NULL,
    percentage integer DEFAULT NULL, preference text DEFAULT NULL, evidence text DEFAULT NULL, details jsonb DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_refused record;
BEGIN
    SELECT * INTO v_refused FROM appstore.decide_consumption(
        environment, transaction_id, ROW(consented, delivery, sample, percentage, preference, evidence, details), 'decision', appstore.actor());
    IF v_refused.refusal IS NOT NULL THEN
        RAISE EXCEPTION '%', v_refused.message USING DETAIL = v_refused.refusal, HINT = 'appstore.consumption_requests lists what Apple asks.',
            ERRCODE = CASE WHEN v_refused.refusal = 'not_asked' THEN 'no_data_found'
                           WHEN v_refused.refusal IN ('apple_decided', 'answered', 'past_due', 'policy_off') THEN 'object_not_in_prerequisite_state'
                           ELSE 'invalid_parameter_value' END;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.answer_consumption IS
    'Decides how Apple''s consumption request is answered, and puts the answer into the outbox; without consent it is a decision to send nothing. It '
    'fails with no_data_found when Apple has not asked, with object_not_in_prerequisite_state when it is too late or the policy is off, and with '
    'invalid_parameter_value when the answer breaks a rule; DETAIL names the rule. After a refusal by Apple, call it again with a correct answer. '
    'Where it fails with 40P01 or 55P03, call it again.';

CREATE OR REPLACE FUNCTION appstore.consumption_answered(environment appstore.environment, transaction_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_asked timestamptz;
    v_now   timestamptz;
BEGIN
    PERFORM appstore.check_environment(environment);
    SELECT c.asked_at INTO v_asked FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = consumption_answered.transaction_id AND c.environment = consumption_answered.environment FOR UPDATE;
    IF v_asked IS NULL THEN
        RAISE EXCEPTION 'Apple has not asked about transaction % in %', quote_nullable(transaction_id), environment
            USING ERRCODE = 'no_data_found', HINT = 'appstore.consumption_requests lists what Apple asks.';
    END IF;
    v_now := greatest(clock_timestamp(), v_asked);
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'replaced', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_key = consumption_answered.environment || '/' || consumption_answered.transaction_id AND o.kind = 'consumption'
      AND (o.state = 'open') IS TRUE;
    INSERT INTO appstore.consumption_decisions (environment, transaction_id, decided_at, decided_by, origin, result, settled_at)
    VALUES (consumption_answered.environment, consumption_answered.transaction_id, v_now, appstore.actor(), 'elsewhere', 'answered', v_now);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, appstore.actor(), 'consumption_answered', '{}',
            jsonb_build_object('environment', consumption_answered.environment, 'transaction_id', consumption_answered.transaction_id));
END
$$;
COMMENT ON FUNCTION appstore.consumption_answered IS
    'Records that another program has told Apple how a purchase was consumed; an answer that waits to be sent is discarded. It can be repeated. It '
    'fails with no_data_found when Apple has not asked about the transaction.';
