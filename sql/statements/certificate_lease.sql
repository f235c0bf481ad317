-- Leases the certificate whose status is to be asked for next.
-- A worker sends it about once a minute. The lease is the epoch, which certificate_settle repeats, and a time.
-- Returns a row if one is due. this_update: of the last usable answer, in seconds since 1970.
--
-- :seconds   how long the lease lasts
SELECT l.fingerprint, l.epoch, l.certificate, l.issuer, l.failures, l.this_update, l.now_ms
FROM appstore.lease_certificate(:seconds::integer) AS l;
