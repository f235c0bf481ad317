-- The certificates below the configured roots that signed events, and what their issuers say of them by OCSP (RFC 6960).

CREATE TABLE appstore.certificates (
    fingerprint       bytea       NOT NULL PRIMARY KEY,
    certificate       bytea       NOT NULL,
    issuer            bytea       NOT NULL,
    first_seen_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    status            text        COLLATE "C",
    this_update       timestamptz,
    next_update       timestamptz,
    answered_at       timestamptz,
    revoked_at        timestamptz,
    crl_reason        text        COLLATE "C",
    refuses_all       boolean     NOT NULL GENERATED ALWAYS AS (
        coalesce(crl_reason IN ('unspecified', 'key_compromise', 'ca_compromise'), false)) STORED,
    is_ignored        boolean     NOT NULL DEFAULT false,
    run_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures          integer     NOT NULL DEFAULT 0,
    last_error        text,
    epoch             bigint      NOT NULL DEFAULT 0,
    leased_until      timestamptz,
    CONSTRAINT certificates_fingerprint_is_its_digest CHECK (fingerprint = sha256(certificate)),
    CONSTRAINT certificates_status_is_known CHECK (status IN ('good', 'revoked')),
    CONSTRAINT certificates_answered_as_a_whole CHECK (
        num_nonnulls(status, this_update, next_update, answered_at) IN (0, 4)),
    CONSTRAINT certificates_revoked_with_time_and_reason CHECK (
        num_nonnulls(revoked_at, crl_reason) = CASE WHEN status = 'revoked' THEN 2 ELSE 0 END),
    CONSTRAINT certificates_only_a_revocation_is_ignored CHECK (NOT is_ignored OR (status = 'revoked') IS TRUE)
);
COMMENT ON TABLE appstore.certificates IS
    'Leaf and intermediate certificates below the configured roots that signed events, and whether they are revoked. A worker leases a row to ask '
    'the responder; epoch is counted up, and a worker that returns with an older epoch is refused.';
COMMENT ON COLUMN appstore.certificates.fingerprint IS 'SHA-256 of the certificate.';
COMMENT ON COLUMN appstore.certificates.certificate IS 'The certificate in DER.';
COMMENT ON COLUMN appstore.certificates.issuer IS 'The certificate of its issuer in DER; of an intermediate, the root.';
COMMENT ON COLUMN appstore.certificates.first_seen_at IS 'When a worker first reported it.';
COMMENT ON COLUMN appstore.certificates.seen_at IS 'When a worker last reported it, every few hours while it signs. After 30 days it is not asked about.';
COMMENT ON COLUMN appstore.certificates.status IS 'good or revoked, as the last usable answer says; null: there was none.';
COMMENT ON COLUMN appstore.certificates.this_update IS 'From when on the responder knows this. An older answer is refused.';
COMMENT ON COLUMN appstore.certificates.next_update IS 'Until when the answer holds. A revocation counts until an answer says good.';
COMMENT ON COLUMN appstore.certificates.answered_at IS 'When the last usable answer came.';
COMMENT ON COLUMN appstore.certificates.revoked_at IS 'When it was revoked; null while it is good.';
COMMENT ON COLUMN appstore.certificates.crl_reason IS 'Why (RFC 5280): unspecified, key_compromise, superseded …';
COMMENT ON COLUMN appstore.certificates.refuses_all IS
    'Whether events of any signing date are rejected, because the holder of a stolen key can choose the date; otherwise those from revoked_at on.';
COMMENT ON COLUMN appstore.certificates.is_ignored IS 'An operator has decided that the revocation has no effect: appstore.ignore_revocation.';
COMMENT ON COLUMN appstore.certificates.run_at IS 'When to ask next.';
COMMENT ON COLUMN appstore.certificates.failures IS 'How many questions in a row brought no usable answer.';
COMMENT ON COLUMN appstore.certificates.last_error IS 'Why the last question brought none; null when it did.';
COMMENT ON COLUMN appstore.certificates.epoch IS 'Counted up by each lease.';
COMMENT ON COLUMN appstore.certificates.leased_until IS 'Until when a worker has it; null: none.';
