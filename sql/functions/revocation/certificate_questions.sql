-- Questions to OCSP responders. They belong to no event: a certificate is asked about while it signs.

CREATE OR REPLACE FUNCTION appstore.see_certificates(p_certificates bytea[], p_issuers bytea[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO appstore.certificates AS c (fingerprint, certificate, issuer)
    SELECT DISTINCT ON (sha256(seen.certificate)) sha256(seen.certificate), seen.certificate, seen.issuer
    FROM unnest(p_certificates, p_issuers) AS seen (certificate, issuer) ORDER BY 1
    ON CONFLICT (fingerprint) DO UPDATE SET seen_at = clock_timestamp();
$$;
COMMENT ON FUNCTION appstore.see_certificates IS
    'Records certificates that signed, each with its issuer. The caller has verified that each chain leads to a configured root.';

CREATE OR REPLACE FUNCTION appstore.lease_certificate(p_seconds integer)
RETURNS TABLE (fingerprint bytea, epoch bigint, certificate bytea, issuer bytea, failures integer, this_update bigint, now_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE appstore.certificates AS c SET epoch = c.epoch + 1, leased_until = v_now + p_seconds * interval '1 second'
    WHERE c.fingerprint = (
        SELECT due.fingerprint FROM appstore.certificates AS due
        WHERE due.run_at <= v_now AND due.seen_at > v_now - interval '30 days' AND (due.leased_until < v_now OR due.leased_until IS NULL)
        ORDER BY due.run_at, due.fingerprint LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING c.fingerprint, c.epoch, c.certificate, c.issuer, c.failures, extract(epoch FROM c.this_update)::bigint,
              (extract(epoch FROM v_now) * 1000)::bigint;
END
$$;
COMMENT ON FUNCTION appstore.lease_certificate IS
    'Leases the certificate that has been due for longest, was seen within 30 days and is no other worker''s, for so many seconds. No row: '
    'none is. this_update, of the last usable answer, is in seconds since 1970.';

CREATE OR REPLACE FUNCTION appstore.settle_certificate(
    p_fingerprint bytea, p_epoch bigint, p_status text /* null */, p_this_update bigint /* null */, p_next_update bigint /* null */,
    p_revoked_at bigint /* null */, p_reason text /* null */, p_error text /* null */, p_wait_ms bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    IF p_status IS NULL THEN
        UPDATE appstore.certificates AS c
        SET leased_until = NULL, run_at = v_now + p_wait_ms * interval '1 millisecond', failures = c.failures + 1, last_error = p_error
        WHERE c.fingerprint = p_fingerprint AND c.epoch = p_epoch;
    ELSE
        UPDATE appstore.certificates AS c
        SET leased_until = NULL, run_at = v_now + p_wait_ms * interval '1 millisecond', failures = 0, last_error = NULL, answered_at = v_now,
            status = p_status, this_update = to_timestamp(p_this_update), next_update = to_timestamp(p_next_update),
            revoked_at = to_timestamp(p_revoked_at), crl_reason = p_reason, is_ignored = c.is_ignored AND p_status = 'revoked'
        WHERE c.fingerprint = p_fingerprint AND c.epoch = p_epoch;
    END IF;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION appstore.settle_certificate IS
    'Records a usable answer, or with a null p_status that there was none, which changes no status; and when to ask next. Times are in seconds since '
    '1970. False when a later lease has begun: then nothing has changed.';

CREATE OR REPLACE FUNCTION appstore.ignore_revocation(fingerprint bytea, is_ignored boolean DEFAULT true, note text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE appstore.certificates AS c SET is_ignored = ignore_revocation.is_ignored
    WHERE c.fingerprint = ignore_revocation.fingerprint AND c.status = 'revoked';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no revoked certificate has the fingerprint %', encode(ignore_revocation.fingerprint, 'hex')
            USING ERRCODE = 'no_data_found', HINT = 'appstore.certificate_status lists the certificates.';
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), 'ignore_revocation', '{}', ignore_revocation.note,
            jsonb_build_object('fingerprint', encode(ignore_revocation.fingerprint, 'hex'), 'is_ignored', ignore_revocation.is_ignored));
END
$$;
COMMENT ON FUNCTION appstore.ignore_revocation IS
    'Decides that a revocation has no effect, or that it has one again. Workers follow within a minute and a half; then requeue what was rejected. '
    'It fails with no_data_found when there is no such revoked certificate.';

CREATE OR REPLACE FUNCTION appstore.certificate_statistics()
RETURNS TABLE (certificates bigint, revoked bigint, ignored bigint, age_seconds double precision, last_error text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*) FILTER (WHERE c.is_recent), count(*) FILTER (WHERE c.status = 'revoked' AND NOT c.is_ignored),
           count(*) FILTER (WHERE c.is_ignored),
           max(extract(epoch FROM c.age)) FILTER (WHERE c.is_recent AND c.last_error IS DISTINCT FROM 'no_address')::double precision,
           (array_agg(c.last_error ORDER BY c.age DESC) FILTER (WHERE c.is_recent AND c.last_error IS NOT NULL))[1]
    FROM (SELECT c.status, c.is_ignored, c.last_error, c.seen_at > statement_timestamp() - interval '30 days' AS is_recent,
                 statement_timestamp() - coalesce(c.answered_at, c.first_seen_at) AS age
          FROM appstore.certificates AS c) AS c
$$;
COMMENT ON FUNCTION appstore.certificate_statistics IS
    'How many certificates signed within 30 days, how many of all are revoked, or revoked and ignored; since when the one that has waited longest '
    'has had no usable answer, without those that name no responder that may be asked; and the last error.';
