-- Leases of endpoints. A worker that lost its lease learns it from the epoch, which every other statement repeats.

CREATE OR REPLACE FUNCTION appstore.lease_endpoints(p_slots integer, p_seconds integer)
RETURNS TABLE (name text, endpoint_id uuid, epoch bigint, url text, format text, keeps_order boolean, max_in_flight integer, max_per_second integer,
               timeout_seconds integer, secret_generation integer, previous_secret boolean, "position" bigint, failures integer,
               failing_since_ms bigint, open_for_ms bigint, probes integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH free AS MATERIALIZED (
        SELECT e.name FROM appstore.endpoints AS e
        WHERE e.state = 'enabled' AND (e.leased_until < v_now OR e.leased_until IS NULL)
        ORDER BY e.leased_until NULLS FIRST, e.name LIMIT p_slots FOR UPDATE SKIP LOCKED
    ), leased AS (
        UPDATE appstore.endpoints AS e
        SET epoch = e.epoch + 1, leased_until = v_now + p_seconds * interval '1 second', due_from = appstore.first_due(e.name, '-infinity', v_now)
        WHERE e.name = ANY (ARRAY(SELECT free.name FROM free))
        RETURNING e.*
    )
    SELECT e.name, e.endpoint_id, e.epoch, e.url, e.format, e.keeps_order, e.max_in_flight, e.max_per_second, e.timeout_seconds,
           e.secret_generation, appstore.has_previous_secret(e, v_now), least(e.position, h.position), e.failures,
           appstore.milliseconds(v_now - e.failing_since),
           CASE WHEN e.open_until IS NOT NULL THEN greatest(appstore.milliseconds(e.open_until - v_now), 0) END, e.probes
    FROM leased AS e CROSS JOIN appstore.feed_head AS h;
END
$$;
COMMENT ON FUNCTION appstore.lease_endpoints IS
    'Leases enabled endpoints that no worker has, at most p_slots, for so many seconds, and returns what a worker needs to serve them. '
    'open_for_ms: until the next probe, null while the breaker is closed.';

CREATE OR REPLACE FUNCTION appstore.poll_endpoints(p_names text[], p_epochs bigint[], p_after bigint[], p_seconds integer)
RETURNS TABLE (name text, has_work boolean, url text, keeps_order boolean, max_in_flight integer, max_per_second integer, timeout_seconds integer,
               secret_generation integer, previous_secret boolean, "position" bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_soon  timestamptz := v_now + p_seconds * interval '500 milliseconds';
    v_short text[] := ARRAY(
        SELECT e.name FROM unnest(p_names, p_epochs) AS held (name, epoch) JOIN appstore.endpoints AS e ON e.name = held.name
        WHERE e.epoch = held.epoch AND e.state = 'enabled' AND e.leased_until < v_soon);
BEGIN
    IF v_short <> '{}' THEN
        UPDATE appstore.endpoints AS e
        SET leased_until = v_now + p_seconds * interval '1 second', due_from = appstore.first_due(e.name, e.due_from, v_now)
        WHERE e.name = ANY (ARRAY(SELECT e.name FROM unnest(p_names, p_epochs) AS held (name, epoch)
                                  JOIN appstore.endpoints AS e ON e.name = held.name
                                  WHERE e.name = ANY (v_short) AND e.epoch = held.epoch AND e.state = 'enabled' AND e.leased_until IS NOT NULL
                                  FOR UPDATE OF e SKIP LOCKED));
    END IF;
    RETURN QUERY
    SELECT e.name,
           h.position > held.after
           OR EXISTS (SELECT FROM appstore.open_deliveries AS d
                      WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.run_at >= e.due_from AND d.run_at <= v_now)
           OR EXISTS (SELECT FROM appstore.redeliveries AS r WHERE r.endpoint = e.name AND r.state = 'open'),
           e.url, e.keeps_order, e.max_in_flight, e.max_per_second, e.timeout_seconds, e.secret_generation,
           appstore.has_previous_secret(e, v_now), e.position
    FROM unnest(p_names, p_epochs, p_after) AS held (name, epoch, after)
    CROSS JOIN appstore.feed_head AS h
    JOIN appstore.endpoints AS e ON e.name = held.name
    WHERE e.epoch = held.epoch AND e.state = 'enabled' AND e.leased_until IS NOT NULL
      AND held.after <= h.position; -- after a failover positions may mean something else
END
$$;
COMMENT ON FUNCTION appstore.poll_endpoints IS
    'Those of the endpoints that still are leased with these epochs, whether there is anything to send after these positions, and their settings. '
    'Renews leases of which less than half is left; writes nothing else.';

CREATE OR REPLACE FUNCTION appstore.release_endpoint(p_name text, p_epoch bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE appstore.endpoints AS e SET leased_until = NULL WHERE e.name = p_name AND e.epoch = p_epoch;
END
$$;
COMMENT ON FUNCTION appstore.release_endpoint IS 'Ends the lease of that epoch, so that another worker can have the endpoint at once.';

-- VOLATILE: under the lock of the endpoint it must see what was committed before the lock was granted.
CREATE OR REPLACE FUNCTION appstore.first_due(p_endpoint text, p_from timestamptz, p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce((SELECT d.run_at FROM appstore.open_deliveries AS d
                     WHERE d.endpoint = p_endpoint AND d.given_up_at IS NULL AND d.run_at >= least(p_from, p_now) AND d.run_at <= p_now
                     ORDER BY d.run_at LIMIT 1), p_now);
END
$$;
COMMENT ON FUNCTION appstore.first_due IS
    'What endpoints.due_from, which is p_from, may be set to under the lock of the endpoint: when the first open delivery is due, at most p_now.';

-- Without SET clauses, so that PostgreSQL inlines them.
CREATE OR REPLACE FUNCTION appstore.has_previous_secret(e appstore.endpoints, p_now timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT e.secret_generation > 1 AND coalesce(e.rotated_at > p_now - interval '24 hours', false)
$$;
COMMENT ON FUNCTION appstore.has_previous_secret IS 'Whether the secret of the generation before signs as well.';

CREATE OR REPLACE FUNCTION appstore.milliseconds(p_time interval) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT ceil(extract(epoch FROM p_time) * 1000)::bigint $$;
COMMENT ON FUNCTION appstore.milliseconds IS 'So many milliseconds.';
