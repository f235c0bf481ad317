CREATE FUNCTION appstore.consumption_answered(environment appstore.environment, transaction_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
BEGIN
    PERFORM appstore.check_environment(environment);
    IF NOT EXISTS (SELECT FROM appstore.refund_requests AS r
                   WHERE r.transaction_id = consumption_answered.transaction_id AND r.environment = consumption_answered.environment
                     AND r.kind = 'asked') THEN
        RAISE EXCEPTION 'Apple has not asked about transaction % in %', quote_nullable(transaction_id), environment
            USING ERRCODE = 'no_data_found', HINT = 'appstore.consumption_requests lists what Apple asks.';
    END IF;
    -- The latest answer counts in any order of commits: it covers all earlier ones.
    UPDATE appstore.consumption_obligations AS c SET answered_at = greatest(c.answered_at, clock_timestamp()), answered_by = session_user
    WHERE c.transaction_id = consumption_answered.transaction_id AND c.environment = consumption_answered.environment
    RETURNING c.answered_at INTO v_now;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, session_user, 'consumption_answered', '{}',
            jsonb_build_object('environment', consumption_answered.environment, 'transaction_id', consumption_answered.transaction_id));
END
$$;
COMMENT ON FUNCTION appstore.consumption_answered IS
    'Records that you have told Apple how a purchase was consumed. It can be repeated: the latest answer counts. It fails with no_data_found when '
    'Apple has not asked about the transaction.';
