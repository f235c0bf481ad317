CREATE OR REPLACE FUNCTION appstore.find_events(
    filter appstore.repair_filter, only_source text DEFAULT NULL, only_contract text DEFAULT NULL, only_uuid uuid DEFAULT NULL,
    is_waiting boolean DEFAULT false, before_at timestamptz DEFAULT 'infinity', before_event_id bigint DEFAULT 0, max_rows integer DEFAULT 50)
RETURNS TABLE (event_id bigint, received_at timestamptz, settled_at timestamptz, source text, notification_type text, subtype text,
               environment text, bundle_id text, result appstore.result, reason text, attempts integer, original_transaction_id text,
               is_found boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_checked  CONSTANT integer := 10000; -- the most outcomes that a call checks
    v_checked  integer := 0;
    v_found    integer := 0;
    v_outcome  appstore.outcomes;
    v_fits     boolean := false;
    v_next     record;
    v_outcomes refcursor;
BEGIN
    -- 1. Events without outcome, the latest first.
    IF is_waiting THEN
        RETURN QUERY
        SELECT q.event_id, i.received_at, NULL::timestamptz, i.source, NULL, NULL, NULL, NULL, NULL::appstore.result, q.last_error,
               q.attempts::integer, NULL, true
        FROM (SELECT q.* FROM appstore.inbox_queue AS q WHERE before_event_id = 0 OR q.event_id < before_event_id
              ORDER BY q.event_id DESC LIMIT max_rows) AS q
        CROSS JOIN LATERAL (SELECT i.received_at, i.source FROM appstore.inbox AS i WHERE i.event_id = q.event_id OFFSET 0) AS i
        ORDER BY q.event_id DESC;
        RETURN;
    END IF;

    -- 2. The events about a contract, or with a notificationUUID: the first one, and its duplicates about the same contract.
    IF only_contract IS NOT NULL OR only_uuid IS NOT NULL THEN
        RETURN QUERY
        WITH first AS MATERIALIZED (
            SELECT n.first_event_id AS id FROM appstore.seen_notifications AS n
            WHERE n.notification_uuid = only_uuid
        ), contract AS MATERIALIZED (
            SELECT only_contract AS id WHERE only_contract IS NOT NULL
            UNION
            SELECT o.original_transaction_id FROM first CROSS JOIN LATERAL (
                SELECT o.original_transaction_id FROM appstore.outcomes AS o WHERE o.event_id = first.id OFFSET 0) AS o
            WHERE only_contract IS NULL AND o.original_transaction_id IS NOT NULL
        ), named AS MATERIALIZED (
            SELECT first.id FROM first
            UNION
            SELECT o.event_id FROM contract CROSS JOIN LATERAL (
                SELECT o.event_id FROM appstore.outcomes AS o WHERE o.original_transaction_id = contract.id OFFSET 0) AS o
            UNION -- events about several contracts
            SELECT e.event_id FROM contract CROSS JOIN LATERAL (
                SELECT e.event_id FROM appstore.event_contracts AS e WHERE e.original_transaction_id = contract.id OFFSET 0) AS e
        )
        SELECT o.event_id, o.received_at, o.settled_at, o.source, o.notification_type, o.subtype, o.environment, o.bundle_id, o.result,
               o.reason, o.attempts, o.original_transaction_id, true
        FROM named CROSS JOIN LATERAL (SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = named.id OFFSET 0) AS o
        WHERE appstore.matches_filter(o, filter)
          AND (only_source IS NULL OR o.source = only_source)
          AND (only_uuid IS NULL OR o.notification_uuid = only_uuid)
          AND (o.settled_at, o.event_id) < (before_at, before_event_id)
        ORDER BY o.settled_at DESC, o.event_id DESC LIMIT max_rows;
        RETURN;
    END IF;

    -- 3. The latest outcomes; those that need attention along their own index. An event is settled after it was received.
    IF filter.result IN ('failed', 'rejected', 'unhandled', 'discarded') THEN
        OPEN v_outcomes FOR
            SELECT o AS outcome, (appstore.matches_filter(o, filter) AND (only_source IS NULL OR o.source = only_source)) IS TRUE AS fits
            FROM appstore.outcomes AS o
            WHERE o.result = filter.result AND (o.settled_at, o.event_id) < (before_at, before_event_id)
              AND o.settled_at >= coalesce(filter.received_from, '-infinity')
              AND o.result IN ('failed', 'rejected', 'unhandled', 'discarded')
            ORDER BY o.settled_at DESC, o.event_id DESC LIMIT c_checked;
    ELSE
        OPEN v_outcomes FOR
            SELECT o AS outcome, (appstore.matches_filter(o, filter) AND (only_source IS NULL OR o.source = only_source)) IS TRUE AS fits
            FROM appstore.outcomes AS o
            WHERE (o.settled_at, o.event_id) < (before_at, before_event_id) AND o.settled_at >= coalesce(filter.received_from, '-infinity')
            ORDER BY o.settled_at DESC, o.event_id DESC LIMIT c_checked;
    END IF;
    LOOP
        FETCH v_outcomes INTO v_next;
        EXIT WHEN NOT FOUND;
        v_checked := v_checked + 1;
        CONTINUE WHEN NOT v_next.fits AND v_checked < c_checked;
        v_outcome := v_next.outcome;
        RETURN QUERY
        SELECT v_outcome.event_id, v_outcome.received_at, v_outcome.settled_at, v_outcome.source, v_outcome.notification_type,
               v_outcome.subtype, v_outcome.environment, v_outcome.bundle_id, v_outcome.result, v_outcome.reason, v_outcome.attempts,
               v_outcome.original_transaction_id, v_next.fits;
        v_found := v_found + 1;
        v_fits := v_next.fits;
        EXIT WHEN v_found = max_rows;
    END LOOP;
    -- The place to go on from, where the last outcome that was checked is one of those found.
    IF v_checked = c_checked AND v_found < max_rows AND v_fits THEN
        RETURN QUERY
        SELECT v_outcome.event_id, v_outcome.received_at, v_outcome.settled_at, v_outcome.source, v_outcome.notification_type,
               v_outcome.subtype, v_outcome.environment, v_outcome.bundle_id, v_outcome.result, v_outcome.reason, v_outcome.attempts,
               v_outcome.original_transaction_id, false;
    END IF;
    CLOSE v_outcomes;
END
$$;
COMMENT ON FUNCTION appstore.find_events IS
    'The latest events that meet every condition, at most max_rows, which were settled before (before_at, before_event_id): the place of the last '
    'row of the page before. is_waiting: events without outcome instead, in the order of their ids, to which no other condition applies. A call '
    'checks 10,000 outcomes at most; where it ends there, its last row is the last outcome that was checked, and is_found is false if that does '
    'not meet the conditions.';
