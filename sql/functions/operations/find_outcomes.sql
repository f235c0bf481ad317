-- The one search of outcomes: of events that people look for, and of those that a repair takes. Private to these.

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
COMMENT ON FUNCTION appstore.matches_filter IS 'Whether an outcome meets every condition of a filter.';

CREATE OR REPLACE FUNCTION appstore.find_outcomes(
    filter appstore.repair_filter, action text DEFAULT NULL, only_source text DEFAULT NULL, oldest_first boolean DEFAULT true,
    after_at timestamptz DEFAULT '-infinity', after_event_id bigint DEFAULT 0,
    before_at timestamptz DEFAULT 'infinity', before_event_id bigint DEFAULT 0,
    max_rows bigint DEFAULT NULL, max_checked bigint DEFAULT NULL)
RETURNS TABLE (settled_at timestamptz, event_id bigint, result appstore.result, outcome appstore.outcomes, is_found boolean, is_cut boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_direction text := CASE WHEN oldest_first THEN 'ASC' ELSE 'DESC' END;
    v_order     text := format('ORDER BY settled_at %1$s, event_id %1$s', v_direction);
    v_walk      text := 'SELECT o AS outcome, o.result, o.settled_at, o.event_id FROM appstore.outcomes AS o '
                        'WHERE (o.settled_at, o.event_id) > ($3, $4) AND (o.settled_at, o.event_id) < ($5, $6)';
BEGIN
    -- An event is settled after it was received.
    IF filter.received_from > after_at THEN
        after_at := filter.received_from;
        after_event_id := 0;
    END IF;

    -- 1. Outcomes that need attention have an index of their own: the failures of an incident are few among many, and the latest. Only this
    --    index has the inner order. The condition outside tells PostgreSQL that it is the outer order as well.
    IF action = 'discard' OR filter.result IN ('failed', 'rejected', 'unhandled', 'discarded') THEN
        v_walk := (
            SELECT string_agg(format($walk$(
                SELECT ordered.*
                FROM (SELECT o AS outcome, o.result, o.settled_at, o.event_id FROM appstore.outcomes AS o
                      WHERE o.result IN ('failed', 'rejected', 'unhandled', 'discarded')
                        AND (o.result, o.settled_at, o.event_id) > (%1$L, $3, $4) AND (o.result, o.settled_at, o.event_id) < (%1$L, $5, $6)
                      ORDER BY o.result %2$s, o.settled_at %2$s, o.event_id %2$s OFFSET 0) AS ordered
                WHERE ordered.result = %1$L %3$s)$walk$, needed, v_direction, v_order), ' UNION ALL ')
            FROM unnest('{failed,rejected,unhandled,discarded}'::appstore.result[]) AS needed
            WHERE coalesce(filter.result = needed, true) AND (action = 'discard' AND needed = 'discarded') IS NOT TRUE);
        IF v_walk IS NULL THEN
            RETURN;
        END IF;
    END IF;

    -- 2. Of the outcomes in order those that meet the conditions, and the last one that was checked where not all were. Nothing sorts: the
    --    query ends with the last row that it returns.
    RETURN QUERY EXECUTE format($query$
        SELECT w.settled_at, w.event_id, w.result, w.outcome, w.fits, (w.place = $8) IS TRUE
        FROM (
            SELECT c.settled_at, c.event_id, c.result, c.outcome, row_number() OVER () AS place,
                   (appstore.matches_filter(c.outcome, $1) AND ($2 IS NULL OR (c.outcome).source = $2) %3$s) IS TRUE AS fits
            FROM (SELECT walk.* FROM (%1$s) AS walk %2$s LIMIT $8) AS c
        ) AS w
        WHERE w.fits OR w.place = $8 LIMIT $7
        $query$, v_walk, v_order,
        -- A requeue needs the body. Only those of matching events are looked up.
        CASE WHEN action = 'requeue' THEN 'AND EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = c.event_id OFFSET 0)' END)
    USING filter, only_source, after_at, after_event_id, before_at, before_event_id, max_rows, max_checked;
END
$$;
COMMENT ON FUNCTION appstore.find_outcomes IS
    'The outcomes after one place and before another in the order of (settled_at, event_id) that meet every condition, at most max_rows. '
    'Those that a repair can take, if action names one: a discard takes what failed, was rejected or unhandled; a requeue what still has its '
    'body. It checks at most max_checked, and where it ends there, its last row is the last one that was checked, with is_cut; is_found is false '
    'if that does not meet the conditions.';
