-- The lateral query must not run, and read every body, while no certificate is revoked: OFFSET 0 keeps the planner from turning it around.
CREATE OR REPLACE VIEW appstore.revoked_events AS
SELECT e.event_id, e.source, e.received_at, e.settled_at, e.result, e.notification_type, e.subtype, e.environment, e.bundle_id, e.transaction_id,
       e.original_transaction_id, c.fingerprint, c.revoked_at, c.crl_reason, c.is_ignored
FROM appstore.certificates AS c
CROSS JOIN LATERAL (
    SELECT o.* FROM appstore.inbox AS i
    JOIN appstore.outcomes AS o ON o.event_id = i.event_id AND o.result NOT IN ('rejected', 'failed', 'discarded')
    WHERE (c.refuses_all OR i.received_at >= c.revoked_at - interval '5 minutes')
      AND EXISTS (SELECT FROM appstore.signers_of(i.body) AS s
                  WHERE s.fingerprint = c.fingerprint AND (c.refuses_all OR s.signed_at >= c.revoked_at))
    OFFSET 0) AS e
WHERE c.status = 'revoked';
COMMENT ON VIEW appstore.revoked_events IS
    'Events that were settled before their certificate was known to be revoked, and would be rejected now. The ledger keeps what they said. It reads '
    'every body, and misses those that have aged. Once for each revoked certificate of an event.';
COMMENT ON COLUMN appstore.revoked_events.result IS 'What became of the event.';
COMMENT ON COLUMN appstore.revoked_events.notification_type IS 'This column and the following ones: what the payload says of itself.';
COMMENT ON COLUMN appstore.revoked_events.fingerprint IS 'SHA-256 of the revoked certificate.';
COMMENT ON COLUMN appstore.revoked_events.revoked_at IS 'When it was revoked.';
COMMENT ON COLUMN appstore.revoked_events.crl_reason IS 'Why.';
COMMENT ON COLUMN appstore.revoked_events.is_ignored IS 'An operator has decided that the revocation has no effect.';
