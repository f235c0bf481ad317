-- What is active at an instant, and until when. The one rule, for views, functions of the API, operators and the feed. PostgreSQL inlines each:
-- of scalars, without a SET clause, not strict, and not IMMUTABLE, which it would not inline here.

CREATE OR REPLACE FUNCTION appstore.awaits_renewal(p_will_renew boolean, p_status integer, p_revoked_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT p_will_renew AND coalesce(p_status, 1) NOT IN (2, 3, 4, 5) AND p_revoked_at IS NULL
$$;
COMMENT ON FUNCTION appstore.awaits_renewal IS
    'Whether Apple said that the current period of a contract renews, and nothing since says otherwise.';

CREATE OR REPLACE FUNCTION appstore.active_until(
    p_until timestamptz, p_will_renew boolean, p_status integer, p_revoked_at timestamptz, p_is_upgraded boolean, p_leeway interval)
RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT p_until + CASE WHEN appstore.awaits_renewal(p_will_renew, p_status, p_revoked_at) AND p_is_upgraded IS NOT TRUE
                          THEN p_leeway ELSE interval '0' END
$$;
COMMENT ON FUNCTION appstore.active_until IS
    'Until when access is active, where no further fact comes: p_until, the end by Apple''s facts, and the leeway for a renewal that is awaited.';

CREATE OR REPLACE FUNCTION appstore.is_active(p_at timestamptz, p_active_until timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(p_at < p_active_until, false)
$$;
COMMENT ON FUNCTION appstore.is_active IS 'Whether access is active at an instant; false while its end is unknown.';

CREATE OR REPLACE FUNCTION appstore.is_in_grace(p_at timestamptz, p_until timestamptz, p_grace_from timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(p_at >= p_grace_from AND p_at < p_until, false)
$$;
COMMENT ON FUNCTION appstore.is_in_grace IS 'Whether access at an instant is a grace period, which begins at p_grace_from.';

CREATE OR REPLACE FUNCTION appstore.access_state(
    p_at timestamptz, p_until timestamptz, p_active_until timestamptz, p_grace_from timestamptz, p_why_ended text)
RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_at < p_until THEN CASE WHEN p_at >= p_grace_from THEN 'grace_period' ELSE 'active' END
                WHEN p_at < p_active_until THEN 'leeway'
                ELSE p_why_ended END
$$;
COMMENT ON FUNCTION appstore.access_state IS 'active, grace_period or leeway while access is active at an instant, else why it ended.';

CREATE OR REPLACE FUNCTION appstore.access_turns_at(
    p_at timestamptz, p_until timestamptz, p_active_until timestamptz, p_grace_from timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_at < p_until THEN least(nullif(p_until, 'infinity'), CASE WHEN p_at < p_grace_from THEN p_grace_from END)
                WHEN p_at < p_active_until THEN p_active_until END
$$;
COMMENT ON FUNCTION appstore.access_turns_at IS 'When the clock alone changes appstore.access_state next; null for never.';
