CREATE OR REPLACE FUNCTION appstore.mark_external_purchase_token_reported(
    environment appstore.environment, external_purchase_id text, reported_at timestamptz /* null */)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_environment appstore.environment := mark_external_purchase_token_reported.environment;
    v_id          text := mark_external_purchase_token_reported.external_purchase_id;
    v_at          timestamptz := mark_external_purchase_token_reported.reported_at;
BEGIN
    PERFORM appstore.check_argument(v_environment IS NOT NULL AND v_id IS NOT NULL, 'environment and external_purchase_id must not be null',
                                    'appstore.external_purchase_tokens_due has both.'),
            appstore.check_argument(v_at IS NULL OR (isfinite(v_at) AND v_at <= clock_timestamp() + interval '5 minutes'),
                                    'reported_at must be an instant that is not ahead', 'Give when you reported the token to Apple, such as now().');
    UPDATE appstore.external_purchase_tokens AS t SET reported_at = v_at, reported_by = CASE WHEN v_at IS NOT NULL THEN appstore.actor() END
    WHERE t.external_purchase_id = v_id AND t.environment = v_environment AND t.reported_at IS DISTINCT FROM v_at;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM appstore.external_purchase_tokens AS t
                                 WHERE t.external_purchase_id = v_id AND t.environment = v_environment) THEN
        RAISE EXCEPTION 'Apple has told of no such token in %', v_environment
            USING ERRCODE = 'no_data_found', HINT = 'Only tokens of Apple''s notifications are kept. One that comes later can be marked then.';
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.mark_external_purchase_token_reported IS
    'Records that you reported a token for purchases outside the App Store to Apple, and when: it is due no longer. null takes it back. Repeating a '
    'call changes nothing. It fails with no_data_found for a token that Apple has not told of. It reports nothing to Apple.';
