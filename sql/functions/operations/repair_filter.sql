-- Which outcomes a repair selects. Private to the repairs.

-- PostgreSQL inlines this function, so that null conditions vanish from the query. A SET clause would prevent that.
CREATE OR REPLACE FUNCTION appstore.matches_filter(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (f.result IS NULL OR o.result = f.result)
       AND (f.reason IS NULL OR o.reason = f.reason)
       AND (f.notification_type IS NULL OR o.notification_type = f.notification_type)
       AND (f.subtype IS NULL OR o.subtype = f.subtype)
       AND (f.environment IS NULL OR o.environment = f.environment::text)
       AND (f.bundle_id IS NULL OR o.bundle_id = f.bundle_id)
       AND (f.received_from IS NULL OR o.received_at >= f.received_from)
       AND (f.received_before IS NULL OR o.received_at < f.received_before)
$$;
COMMENT ON FUNCTION appstore.matches_filter IS 'Whether an outcome meets every condition of a repair.';

CREATE OR REPLACE FUNCTION appstore.check_repair(action text, filter appstore.repair_filter, note text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_conditions jsonb := jsonb_strip_nulls(to_jsonb(filter));
BEGIN
    IF coalesce(v_conditions, '{}') = '{}' THEN
        RAISE EXCEPTION 'a repair needs at least one condition' USING ERRCODE = 'invalid_parameter_value', HINT =
            'Conditions are result, reason, notification_type, subtype, environment, bundle_id, received_from and received_before.';
    ELSIF action IS NULL OR action NOT IN ('requeue', 'discard') THEN
        RAISE EXCEPTION 'there is no repair %', quote_nullable(action) USING ERRCODE = 'invalid_parameter_value', HINT =
            'Repairs are requeue and discard.';
    ELSIF action = 'discard' AND coalesce(btrim(note), '') = '' THEN
        RAISE EXCEPTION 'a discard needs a reason' USING ERRCODE = 'invalid_parameter_value', HINT =
            'It becomes the reason of the outcomes.';
    END IF;
    RETURN v_conditions;
END
$$;
COMMENT ON FUNCTION appstore.check_repair IS
    'Returns the conditions of a repair as JSON, without nulls. Fails for invalid or contradictory conditions.';

CREATE OR REPLACE FUNCTION appstore.find_outcomes(action text, filter appstore.repair_filter, max_events integer) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_result appstore.result;
    v_left   bigint := max_events;
    v_found  bigint;
BEGIN
    IF action = 'requeue' AND (filter.result IN ('failed', 'rejected', 'unhandled', 'discarded')) IS NOT TRUE THEN
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE appstore.matches_filter(o, filter) AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0)
        ORDER BY o.event_id LIMIT max_events;
        RETURN;
    END IF;
    -- Each result in the order of its index: the failures of an incident all have late event ids.
    FOREACH v_result IN ARRAY ARRAY['failed', 'rejected', 'unhandled', 'discarded'] LOOP
        CONTINUE WHEN filter.result <> v_result OR (action = 'discard' AND v_result = 'discarded');
        RETURN QUERY
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.result = v_result AND appstore.matches_filter(o, filter)
          AND (action = 'discard' OR EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.settled_at, o.event_id LIMIT v_left;
        GET DIAGNOSTICS v_found = ROW_COUNT;
        v_left := v_left - v_found;
        EXIT WHEN v_left = 0;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.find_outcomes IS
    'The events that a repair would take now, at most so many, or all when max_events is null. A discard takes only what failed, was rejected '
    'or unhandled; a requeue only what still has its body. Those that need attention come in the order of their outcomes, others by id.';

CREATE OR REPLACE FUNCTION appstore.suggest_reasons(filter appstore.repair_filter) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_others  appstore.repair_filter := filter;
    v_reasons text;
BEGIN
    IF filter.reason IS NULL THEN
        RETURN;
    END IF;
    v_others.reason := NULL;
    SELECT string_agg(format('%s (%s)', counted.reason, counted.events), ', ' ORDER BY counted.events DESC, counted.reason COLLATE "C")
    INTO v_reasons
    FROM (
        SELECT known.reason, count(*) AS events
        FROM (SELECT o.reason FROM appstore.outcomes AS o
              WHERE o.result IN ('failed', 'rejected', 'unhandled', 'discarded') AND appstore.matches_filter(o, v_others)
              LIMIT 100000) AS known -- enough for a hint
        GROUP BY known.reason ORDER BY events DESC, known.reason COLLATE "C" LIMIT 10
    ) AS counted;
    RAISE NOTICE 'no event with the reason % was found', quote_literal(filter.reason) USING HINT =
        coalesce('With the other conditions there are: ' || v_reasons || '.', 'There is none with the other conditions either.');
END
$$;
COMMENT ON FUNCTION appstore.suggest_reasons IS
    'Of a repair that found nothing: raises a notice with up to ten reasons that occur with its other conditions, if it has a reason.';
