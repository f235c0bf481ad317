CREATE OR REPLACE FUNCTION appstore.signers_of(p_body bytea) RETURNS TABLE (fingerprint bytea, signed_at timestamptz)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_body jsonb;
    v_open text[];
    v_part text;
    v_json jsonb[];
BEGIN
    v_body := convert_from(p_body, 'UTF8')::jsonb;
    v_open := ARRAY[v_body ->> 'signedPayload', v_body ->> 'signedTransaction', v_body #>> '{answer,signedTransactionInfo}',
                    v_body #>> '{answer,signedRenewalInfo}', v_body #>> '{answer,signedAppTransactionInfo}'];
    FOR n IN 1 .. cardinality(v_open) + 3 LOOP
        CONTINUE WHEN v_open[n] IS NULL;
        v_json := '{}';
        FOR p IN 1 .. 2 LOOP
            v_part := translate(split_part(v_open[n], '.', p), '-_', '+/');
            v_json := v_json || convert_from(decode(v_part || repeat('=', -length(v_part) & 3), 'base64'), 'UTF8')::jsonb;
        END LOOP;
        signed_at := to_timestamp(coalesce(v_json[2] -> 'signedDate', v_json[2] -> 'receiptCreationDate')::double precision / 1000);
        FOR c IN 0 .. 1 LOOP
            fingerprint := sha256(decode(v_json[1] -> 'x5c' ->> c, 'base64'));
            RETURN NEXT;
        END LOOP;
        IF n = 1 THEN
            v_open := v_open || ARRAY[v_json[2] #>> '{data,signedTransactionInfo}', v_json[2] #>> '{data,signedRenewalInfo}',
                                      v_json[2] #>> '{appData,signedAppTransactionInfo}'];
        END IF;
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    RETURN;
END
$$;
COMMENT ON FUNCTION appstore.signers_of IS
    'SHA-256 of the leaf and the intermediate of each JWS in a body, also of those inside a notification or in an answer of the App Store Server API, and its signing date. Verifies nothing: '
    'for bodies that a worker has verified. Stops at what it cannot read, such as a receipt.';
