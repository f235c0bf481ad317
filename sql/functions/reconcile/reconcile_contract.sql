CREATE OR REPLACE FUNCTION appstore.reconcile_contract(
    transaction_id text, bundle_id text DEFAULT NULL, environment appstore.environment DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_known record;
    v_count bigint;
    v_call  bigint;
BEGIN
    PERFORM appstore.check_argument(char_length(reconcile_contract.transaction_id) BETWEEN 1 AND 64, 'transaction_id must have 1 to 64 characters',
                                    'It is Apple''s id of a purchase, or the originalTransactionId of a subscription.');
    SELECT count(*) OVER (), known.* INTO v_known
    FROM (SELECT m.environment, m.original_transaction_id, m.bundle_id FROM appstore.contracts AS m
          WHERE m.original_transaction_id = reconcile_contract.transaction_id
          UNION
          SELECT t.environment, t.original_transaction_id, t.bundle_id FROM appstore.transactions AS t
          WHERE t.transaction_id = reconcile_contract.transaction_id) AS known
    WHERE (reconcile_contract.environment IS NULL OR known.environment = reconcile_contract.environment)
      AND (reconcile_contract.bundle_id IS NULL OR known.bundle_id = reconcile_contract.bundle_id);
    IF v_known.count > 1 OR (v_known.bundle_id IS NULL AND (reconcile_contract.bundle_id IS NULL OR reconcile_contract.environment IS NULL)) THEN
        RAISE EXCEPTION 'the ledger has %purchase with the id %', CASE WHEN v_known.count > 1 THEN 'more than one ' ELSE 'no ' END,
            quote_literal(reconcile_contract.transaction_id)
            USING ERRCODE = 'no_data_found', HINT = 'Give bundle_id and environment, and Apple is asked nevertheless.';
    END IF;
    IF v_known.bundle_id IS NULL THEN
        PERFORM appstore.check_argument(reconcile_contract.transaction_id ~ '^[0-9]{1,20}$', 'transaction_id must have up to 20 digits',
                                        'It is Apple''s id of a purchase.'),
                appstore.place_of_call(NULL, NULL, reconcile_contract.bundle_id, reconcile_contract.environment);
    END IF;
    v_call := appstore.ask_question(
        'operator', coalesce(v_known.bundle_id, reconcile_contract.bundle_id), coalesce(v_known.environment, reconcile_contract.environment),
        coalesce(v_known.original_transaction_id, reconcile_contract.transaction_id), NULL, 1::smallint, clock_timestamp());
    IF v_call IS NULL THEN
        RAISE EXCEPTION 'an open call asks about the same id of another app'
            USING ERRCODE = 'object_in_use', HINT = 'Wait until it is settled: appstore.outbox_status lists the calls.';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'reconcile_contract', '{}',
            jsonb_build_object('transaction_id', reconcile_contract.transaction_id, 'call_id', v_call));
    RETURN v_call;
END
$$;
COMMENT ON FUNCTION appstore.reconcile_contract IS
    'Asks Apple now for the subscriptions of the customer with this purchase. Returns the call of the outbox. Of a purchase that the ledger does not '
    'have, bundle_id and environment must be given, else it fails with no_data_found; with invalid_parameter_value where no worker has had a key '
    'of the app, and with object_in_use while an open call asks about the same id of another app.';

CREATE OR REPLACE FUNCTION appstore.reconcile_statistics(
    OUT rules text[], OUT questions bigint[], OUT changed bigint[], OUT wrong_ratio double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT array_agg(r.rule), array_agg(r.questions), array_agg(r.changed), max(r.wrong_ratio) FROM appstore.reconcile_status AS r
$$;
COMMENT ON FUNCTION appstore.reconcile_statistics IS
    'How many questions each rule has asked so far, and how many answers changed the ledger; and the share of the sample of the last 30 days of which '
    'Apple''s answer changed it, null without an answer.';
