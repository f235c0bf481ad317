-- Records what a responder said of a certificate, or that it brought no usable answer, and ends the lease.
-- The worker that leases the certificate sends it.
-- Returns one row: whether the lease is the latest. If not, nothing has changed.
--
-- :status    good or revoked; null when there was no usable answer, as are the times then
-- :wait_ms   until the next question
SELECT appstore.settle_certificate(
    :fingerprint::bytea, :epoch::bigint, :status::text, :this_update::bigint, :next_update::bigint, :revoked_at::bigint, :reason::text,
    :error::text, :wait_ms::bigint) AS is_ours;
