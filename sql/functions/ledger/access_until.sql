-- Until when a contract gives access, and which register of its renewal counts.

CREATE OR REPLACE FUNCTION appstore.v1_counts(s appstore.contracts, l appstore.v1_renewals) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT l.stated_at IS NOT NULL AND (s.renewal_signed_date IS NULL OR l.stated_at > s.renewal_signed_date)
$$;
COMMENT ON FUNCTION appstore.v1_counts IS
    'Whether the register of Notifications V1 counts for a renewal: the later statement counts, that of the JWS on a tie.';

CREATE OR REPLACE FUNCTION appstore.is_of_earlier_period(p_renewal_status integer, p_renewal_date timestamptz, p_purchase_date timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(p_renewal_status IN (2, 3, 4, 5) AND p_renewal_date <= p_purchase_date, false)
$$;
COMMENT ON FUNCTION appstore.is_of_earlier_period IS
    'Whether a register says how the period before the current charge ended, as a replica of Apple''s that lags does, and so does the register that '
    'was known before the charge.';

CREATE OR REPLACE FUNCTION appstore.renewal_status(p_purchase_date timestamptz, s appstore.contracts, l appstore.v1_renewals) RETURNS integer
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN NOT appstore.v1_counts(s, l) THEN
            CASE WHEN NOT appstore.is_of_earlier_period(s.renewal_status, s.renewal_date, p_purchase_date) THEN s.renewal_status END
        WHEN l.is_in_billing_retry_period AND l.grace_period_expires_date IS NOT NULL THEN 4
        WHEN l.is_in_billing_retry_period THEN 3
        WHEN l.expiration_intent IS NOT NULL THEN 2
    END
$$;
COMMENT ON FUNCTION appstore.renewal_status IS
    'The status of a renewal by the register that counts, null where that is of an earlier period than the current purchase. Notifications V1 have '
    'no status; it follows from their members.';

-- Inlined into derive_contracts and apply_facts: of scalars, without a SET clause, and not IMMUTABLE, which PostgreSQL would not inline here.
CREATE OR REPLACE FUNCTION appstore.period_until(
    p_purchase_date timestamptz, p_expires_date timestamptz, p_revocation_date timestamptz, p_stated_at timestamptz,
    p_first_signed_date timestamptz, p_renewal_status integer, p_renewal_date timestamptz, p_renewal_signed_date timestamptz,
    p_grace_period_expires_date timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN p_revocation_date IS NOT NULL AND (p_renewal_signed_date IS NULL OR p_stated_at > p_renewal_signed_date) THEN p_revocation_date
        WHEN appstore.is_of_earlier_period(p_renewal_status, p_renewal_date, p_purchase_date) THEN coalesce(p_revocation_date, p_expires_date)
        WHEN (p_renewal_signed_date >= p_first_signed_date) IS NOT TRUE THEN coalesce(p_revocation_date, p_expires_date)
        WHEN p_renewal_status = 1 THEN greatest(p_expires_date, p_renewal_date)
        -- Apple has left out the date. 28 days are its longest grace period; its answer to a question says more.
        WHEN p_renewal_status = 4 THEN coalesce(p_grace_period_expires_date, p_expires_date + interval '672 hours')
        WHEN p_renewal_status IN (2, 3, 5) THEN least(coalesce(p_revocation_date, p_expires_date), p_renewal_signed_date)
        ELSE coalesce(p_revocation_date, p_expires_date)
    END
$$;
COMMENT ON FUNCTION appstore.period_until IS
    'Until when a period of a subscription gives access, by the register of its renewal. The one rule: p_stated_at is the date of the latest statement '
    'about the purchase, p_first_signed_date that of the first.';

CREATE OR REPLACE FUNCTION appstore.v1_grace_until(
    p_expires_date timestamptz, p_first_signed_date timestamptz, s appstore.contracts, l appstore.v1_renewals)
RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    -- 720 hours: days would depend on the session's time zone.
    SELECT CASE WHEN l.is_in_billing_retry_period AND l.grace_period_expires_date <= p_expires_date + interval '720 hours'
                     AND appstore.v1_counts(s, l)
                     AND NOT (coalesce(s.renewal_signed_date >= p_first_signed_date, false) AND coalesce(s.renewal_status = 5, false))
                THEN l.grace_period_expires_date END
$$;
COMMENT ON FUNCTION appstore.v1_grace_until IS 'The end of a grace period that only Notifications V1 tell.';
