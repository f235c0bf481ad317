CREATE OR REPLACE FUNCTION appstore.set_leeway(leeway interval, note text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_leeway interval := make_interval(secs => extract(epoch FROM set_leeway.leeway)::double precision); -- without days, which differ by time zone
    v_was    interval;
BEGIN
    PERFORM appstore.demand_read_committed(),
            appstore.check_argument(v_leeway BETWEEN interval '0' AND interval '72 hours', 'leeway must be 0 to 72 hours', 'Give 2 hours, for example.');
    SELECT s.leeway INTO v_was FROM appstore.access_settings AS s FOR UPDATE;
    IF v_was = v_leeway THEN
        RETURN;
    END IF;
    UPDATE appstore.access_settings AS s SET leeway = v_leeway;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (v_now, appstore.actor(), 'set_leeway', '{}', set_leeway.note, jsonb_build_object('leeway', v_leeway, 'was', v_was));
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RETURN;
    END IF;
    -- Only where a period ended within one of the two: at the end of any other, the feed looks at the leeway of then.
    -- Until the commit no step reads the leeway as it was.
    PERFORM FROM appstore.feed_head FOR UPDATE;
    INSERT INTO appstore.tells (kind, environment, ref)
    SELECT 'contract', m.environment, m.original_transaction_id
    FROM appstore.contracts AS m
    WHERE m.user_id IS NOT NULL AND m.access_until BETWEEN v_now - greatest(v_leeway, v_was) AND clock_timestamp()
      AND appstore.awaits_renewal(m.will_renew, m.status, m.revoked_at);
END
$$;
COMMENT ON FUNCTION appstore.set_leeway IS
    'Sets how long access stays active after the end of a period that will renew, while Apple has said nothing of the renewal: 0 to 72 hours. '
    'Where the feed is on, it is told of the contracts that this changes: that reads all contracts, and holds up the sequencer until the commit.';
