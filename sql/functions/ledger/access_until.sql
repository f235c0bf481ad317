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

CREATE OR REPLACE FUNCTION appstore.renewal_status(c appstore.transactions, s appstore.contracts, l appstore.v1_renewals) RETURNS integer
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN NOT appstore.v1_counts(s, l) THEN
            CASE WHEN NOT appstore.is_of_earlier_period(s.renewal_status, s.renewal_date, c.purchase_date) THEN s.renewal_status END
        WHEN l.is_in_billing_retry_period AND l.grace_period_expires_date IS NOT NULL THEN 4
        WHEN l.is_in_billing_retry_period THEN 3
        WHEN l.expiration_intent IS NOT NULL THEN 2
    END
$$;
COMMENT ON FUNCTION appstore.renewal_status IS
    'The status of a renewal by the register that counts, null where that is of an earlier period than the current charge c. Notifications V1 have '
    'no status; it follows from their members.';

-- apply_facts repeats the third to sixth branch for an unrevoked subscription without a V1 register.
CREATE OR REPLACE FUNCTION appstore.access_until(c appstore.transactions, s appstore.contracts, l appstore.v1_renewals) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT greatest(
        CASE
            WHEN NOT c.is_subscription THEN
                CASE WHEN c.confers_access
                     THEN coalesce(c.revocation_date, CASE WHEN c.product_type = 'Non-Consumable' THEN timestamptz 'infinity' END) END
            WHEN c.revocation_date IS NOT NULL
                 AND (s.renewal_signed_date IS NULL OR greatest(c.signed_date, c.receipt_date) > s.renewal_signed_date) THEN c.revocation_date
            WHEN appstore.is_of_earlier_period(s.renewal_status, s.renewal_date, c.purchase_date) THEN coalesce(c.revocation_date, c.expires_date)
            WHEN s.renewal_signed_date >= c.first_signed_date AND s.renewal_status = 1 THEN greatest(c.expires_date, s.renewal_date)
            WHEN s.renewal_signed_date >= c.first_signed_date AND s.renewal_status = 4
                THEN coalesce(s.grace_period_expires_date, c.expires_date)
            WHEN s.renewal_signed_date >= c.first_signed_date AND s.renewal_status IN (2, 3, 5)
                THEN least(coalesce(c.revocation_date, c.expires_date), s.renewal_signed_date)
            ELSE coalesce(c.revocation_date, c.expires_date)
        END,
        -- A grace period known only from Notifications V1. 720 hours: days would depend on the session's time zone.
        CASE WHEN c.is_subscription AND c.revocation_date IS NULL AND l.is_in_billing_retry_period
                  AND l.grace_period_expires_date <= c.expires_date + interval '720 hours' AND appstore.v1_counts(s, l)
                  AND NOT (coalesce(s.renewal_signed_date >= c.first_signed_date, false) AND coalesce(s.renewal_status = 5, false))
             THEN l.grace_period_expires_date END)
$$;
COMMENT ON FUNCTION appstore.access_until IS
    'Until when the current transaction c of a contract gives access, by the registers s and l; null where a consumable or an unknown duration.';
