CREATE OR REPLACE VIEW appstore.certificate_status AS
SELECT c.fingerprint, c.status, c.revoked_at, c.crl_reason, c.refuses_all, c.is_ignored, c.this_update, c.next_update, c.answered_at,
       c.first_seen_at, c.seen_at, c.run_at AS next_question_at, c.failures, c.last_error
FROM appstore.certificates AS c;
COMMENT ON VIEW appstore.certificate_status IS 'The certificates that signed events, and what their issuers say of them.';
COMMENT ON COLUMN appstore.certificate_status.fingerprint IS 'SHA-256 of the certificate.';
COMMENT ON COLUMN appstore.certificate_status.status IS 'good or revoked, as the last usable answer says; null: there was none.';
COMMENT ON COLUMN appstore.certificate_status.revoked_at IS 'When it was revoked.';
COMMENT ON COLUMN appstore.certificate_status.crl_reason IS 'Why.';
COMMENT ON COLUMN appstore.certificate_status.refuses_all IS 'Whether events of any signing date are rejected; otherwise those from revoked_at on.';
COMMENT ON COLUMN appstore.certificate_status.is_ignored IS 'An operator has decided that the revocation has no effect.';
COMMENT ON COLUMN appstore.certificate_status.this_update IS 'From when on the responder knows this.';
COMMENT ON COLUMN appstore.certificate_status.next_update IS 'Until when the answer holds.';
COMMENT ON COLUMN appstore.certificate_status.answered_at IS 'When the last usable answer came.';
COMMENT ON COLUMN appstore.certificate_status.first_seen_at IS 'When a worker first reported it.';
COMMENT ON COLUMN appstore.certificate_status.seen_at IS 'When a worker last reported it.';
COMMENT ON COLUMN appstore.certificate_status.next_question_at IS 'When a worker asks next.';
COMMENT ON COLUMN appstore.certificate_status.failures IS 'How many questions in a row brought no usable answer.';
COMMENT ON COLUMN appstore.certificate_status.last_error IS 'Why the last question brought none.';
