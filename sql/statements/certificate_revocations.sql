-- Reads the revocations that have an effect.
-- A worker sends it at its start and about once a minute, explain for each event.
-- Returns a row for each revoked certificate. from_ms: the first refused signing date; null refuses every date.
SELECT c.fingerprint, CASE WHEN NOT c.refuses_all THEN (extract(epoch FROM c.revoked_at) * 1000)::bigint END AS from_ms
FROM appstore.certificates AS c
WHERE c.status = 'revoked' AND NOT c.is_ignored
ORDER BY c.fingerprint;
