CREATE OR REPLACE FUNCTION appstore.record_consent(user_id text, evidence text, given_at timestamptz, actor text) RETURNS appstore.consents
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_consent appstore.consents;
BEGIN
    PERFORM appstore.check_argument(char_length(user_id) BETWEEN 1 AND 255, 'user_id must have 1 to 255 characters',
                                    'Give the id that your own system has for the user.'),
            appstore.check_argument(char_length(evidence) BETWEEN 1 AND 1000, 'evidence must have 1 to 1000 characters',
                                    'Say how the user consented, such as the version of the terms.'),
            appstore.check_argument(given_at IS NULL OR given_at <= clock_timestamp(), format('given_at is in the future: %s', given_at),
                                    'Omit it for now.');
    INSERT INTO appstore.consents (user_id, evidence, given_at, given_by)
    VALUES (record_consent.user_id, record_consent.evidence, coalesce(record_consent.given_at, clock_timestamp()), actor)
    ON CONFLICT (user_id) WHERE withdrawn_at IS NULL DO NOTHING;
    SELECT k.* INTO v_consent FROM appstore.consents AS k WHERE k.user_id = record_consent.user_id AND k.withdrawn_at IS NULL;
    RETURN v_consent;
END
$$;
COMMENT ON FUNCTION appstore.record_consent IS 'Records a consent and returns the one in force, which may be an earlier one.';

CREATE OR REPLACE FUNCTION appstore.give_consent(user_id text, evidence text, given_at timestamptz DEFAULT NULL) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (appstore.record_consent(user_id, evidence, given_at, appstore.actor())).given_at;
END
$$;
COMMENT ON FUNCTION appstore.give_consent IS
    'Records that a user consents to tell Apple how purchases were consumed, and returns since when. It changes nothing while a consent of the user '
    'is in force.';

CREATE OR REPLACE FUNCTION appstore.end_consent(user_id text, actor text) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_ended boolean;
BEGIN
    -- A decision that relies on the consent holds a lock on its row, or finds it withdrawn.
    PERFORM appstore.demand_read_committed();
    UPDATE appstore.consents AS k SET withdrawn_at = greatest(clock_timestamp(), k.given_at), withdrawn_by = actor
    WHERE k.user_id = end_consent.user_id AND k.withdrawn_at IS NULL;
    v_ended := FOUND;
    -- Also those whose consent only the evidence of a decision tells.
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'consent_withdrawn', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_id = ANY (ARRAY( -- OFFSET 0: for the order, the planner would read the calls of all users
        SELECT d.call_id
        FROM (SELECT d.call_id, d.result FROM appstore.consumption_decisions AS d WHERE d.user_id = end_consent.user_id OFFSET 0) AS d
        WHERE d.call_id IS NOT NULL AND d.result IS NULL ORDER BY d.call_id))
      AND (o.state = 'open') IS TRUE;
    RETURN v_ended OR FOUND;
END
$$;
COMMENT ON FUNCTION appstore.end_consent IS 'Ends the consent of a user and discards the answers that wait to be sent; false where there is neither.';

CREATE OR REPLACE FUNCTION appstore.withdraw_consent(user_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.end_consent(user_id, appstore.actor());
END
$$;
COMMENT ON FUNCTION appstore.withdraw_consent IS
    'Withdraws the consent of a user: nothing is sent about the user''s purchases until appstore.give_consent is called again. Answers that wait are '
    'discarded; one that a worker is sending at that moment may still reach Apple. Returns false where no consent is in force and no answer waits.';
