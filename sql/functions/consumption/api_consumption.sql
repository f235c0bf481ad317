CREATE OR REPLACE FUNCTION appstore.instant_text(at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$ SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
COMMENT ON FUNCTION appstore.instant_text IS 'An instant as RFC 3339 in UTC, with milliseconds.';

CREATE OR REPLACE FUNCTION appstore.consumption_documents(
    environment appstore.environment /* null */, transaction_id text /* null */, bundle_ids text[] /* null */, states text[] /* null */,
    max_requests integer) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT json_build_object(
        'environment', r.environment, 'transactionId', r.transaction_id, 'state', r.state, 'askedAt', appstore.instant_text(r.asked_at),
        'dueAt', appstore.instant_text(r.due_at), 'reason', r.reason, 'originalTransactionId', r.original_transaction_id,
        'bundleId', r.bundle_id, 'product', r.product_id, 'user', r.user_id, 'orderNo', r.order_no,
        'isAdvancedCommerce', r.is_advanced_commerce, 'decidedAt', appstore.instant_text(r.decided_at), 'decidedBy', r.decided_by,
        'consented', r.consented, 'delivery', r.delivery, 'percentage', r.percentage, 'preference', r.preference,
        'answeredAt', appstore.instant_text(r.answered_at), 'refusedWith', r.refused_with, 'outcome', r.outcome,
        'outcomeAt', appstore.instant_text(r.outcome_at), 'refundedPercentage', r.refunded_percentage)::text
    FROM appstore.consumption_requests AS r
    WHERE (consumption_documents.transaction_id IS NULL AND r.due_at > statement_timestamp() AND r.outcome IS NULL
           OR r.transaction_id = consumption_documents.transaction_id)
      AND (r.environment = consumption_documents.environment OR consumption_documents.environment IS NULL)
      AND (r.bundle_id = ANY (consumption_documents.bundle_ids) OR consumption_documents.bundle_ids IS NULL)
      AND (r.state = ANY (consumption_documents.states) OR consumption_documents.states IS NULL)
    -- Without an order where there is one: the planner would look for it in the order of due_at.
    ORDER BY CASE WHEN consumption_documents.transaction_id IS NULL THEN r.due_at END LIMIT max_requests;
END
$$;
COMMENT ON FUNCTION appstore.consumption_documents IS
    'Requests as JSON, with the members of the HTTP API, the most urgent first: the one about a transaction, else those that Apple waits for. Null '
    'environment, bundle_ids and states are any.';

CREATE OR REPLACE FUNCTION appstore.api_consumption(
    key_hash bytea, environment appstore.environment, transaction_id text /* null */, state text /* null */, max_requests integer)
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consumption:read,consumption:answer}', ARRAY[environment]);
BEGIN
    RETURN QUERY SELECT d.* FROM appstore.consumption_documents(
        environment, transaction_id, v_key.bundle_ids,
        CASE WHEN transaction_id IS NULL AND state IS NULL THEN '{waiting,decided,sending,refused}'
             WHEN transaction_id IS NULL THEN ARRAY[state] END, max_requests) AS d;
END
$$;
COMMENT ON FUNCTION appstore.api_consumption IS
    'The request about a transaction, or those that Apple waits for, in a state, or in any; of the apps of the key. Verb consumption:read; '
    'consumption:answer suffices as well, since the answer to a decision is the request.';

CREATE OR REPLACE FUNCTION appstore.api_answer_consumption(
    key_hash bytea, environment appstore.environment, transaction_id text, consented boolean /* null */, delivery text /* null */,
    sample boolean /* null */, percentage integer /* null */, preference text /* null */, evidence text /* null */, details jsonb /* null */,
    OUT refusal text, OUT message text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consumption:answer}', ARRAY[environment]);
BEGIN
    IF v_key.bundle_ids IS NOT NULL AND NOT EXISTS (
        SELECT FROM appstore.transactions AS t
        WHERE t.transaction_id = transaction_id AND t.environment = environment AND t.bundle_id = ANY (v_key.bundle_ids)) THEN
        refusal := 'not_asked';
        RETURN;
    END IF;
    SELECT d.refusal, d.message INTO refusal, message FROM appstore.decide_consumption(
        environment, transaction_id, ROW(consented, delivery, sample, percentage, preference, evidence, details), 'decision',
        'key ' || v_key.key_id) AS d;
END
$$;
COMMENT ON FUNCTION appstore.api_answer_consumption IS
    'Decides a request as answer_consumption does; instead of failing, it returns the state or rule that refuses the decision. Verb '
    'consumption:answer.';

CREATE OR REPLACE FUNCTION appstore.api_give_consent(key_hash bytea, user_id text, evidence text) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consents:write}', '{}');
BEGIN
    RETURN (appstore.record_consent(user_id, evidence, NULL, 'key ' || v_key.key_id)).given_at;
END
$$;
COMMENT ON FUNCTION appstore.api_give_consent IS 'Records a consent as give_consent does, for all apps. Verb consents:write.';

CREATE OR REPLACE FUNCTION appstore.api_withdraw_consent(key_hash bytea, user_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{consents:write}', '{}');
BEGIN
    RETURN appstore.end_consent(user_id, 'key ' || v_key.key_id);
END
$$;
COMMENT ON FUNCTION appstore.api_withdraw_consent IS 'Withdraws a consent as withdraw_consent does; false where none is in force and no answer waits. Verb consents:write.';
