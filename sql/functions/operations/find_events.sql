CREATE OR REPLACE FUNCTION appstore.find_events(
    filter appstore.repair_filter DEFAULT NULL, only_source text DEFAULT NULL, only_contract text DEFAULT NULL, only_uuid uuid DEFAULT NULL,
    is_waiting boolean DEFAULT false, oldest_first boolean DEFAULT false,
    after_at timestamptz DEFAULT '-infinity', after_event_id bigint DEFAULT 0,
    before_at timestamptz DEFAULT 'infinity', before_event_id bigint DEFAULT 0, max_rows integer DEFAULT 50)
RETURNS TABLE (event_id bigint, run integer, received_at timestamptz, settled_at timestamptz, source text, notification_type text, subtype text,
               environment text, bundle_id text, result appstore.result, reason text, attempts integer, transaction_id text,
               original_transaction_id text, user_id text, product_id text, entitlements text[], until timestamptz,
               is_found boolean, is_cut boolean, is_active boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_outcomes appstore.outcomes[];
    v_found    boolean[];
    v_is_cut   boolean := false;
BEGIN
    -- 1. Events without outcome, the latest first.
    IF is_waiting THEN
        RETURN QUERY
        SELECT q.event_id, q.run, i.received_at, NULL::timestamptz, i.source, NULL, NULL, NULL, NULL, NULL::appstore.result, q.last_error,
               q.attempts::integer, NULL, NULL, NULL, NULL, NULL::text[], NULL::timestamptz, true, false, NULL::boolean
        FROM (SELECT q.* FROM appstore.inbox_queue AS q WHERE before_event_id = 0 OR q.event_id < before_event_id
              ORDER BY q.event_id DESC LIMIT max_rows) AS q
        CROSS JOIN LATERAL (SELECT i.received_at, i.source FROM appstore.inbox AS i WHERE i.event_id = q.event_id OFFSET 0) AS i
        ORDER BY q.event_id DESC;
        RETURN;
    END IF;

    -- 2. The events about a contract, or with a notificationUUID: the first one, and its duplicates about the same contract.
    IF only_contract IS NOT NULL OR only_uuid IS NOT NULL THEN
        v_outcomes := ARRAY(
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
            SELECT o
            FROM named CROSS JOIN LATERAL (SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = named.id OFFSET 0) AS o
            WHERE appstore.matches_filter(o, filter)
              AND (only_source IS NULL OR o.source = only_source)
              AND (only_uuid IS NULL OR o.notification_uuid = only_uuid)
              AND (o.settled_at, o.event_id) > (after_at, after_event_id) AND (o.settled_at, o.event_id) < (before_at, before_event_id)
            ORDER BY CASE WHEN oldest_first THEN o.settled_at END, CASE WHEN oldest_first THEN o.event_id END,
                     o.settled_at DESC, o.event_id DESC
            LIMIT max_rows);
        v_found := array_fill(true, ARRAY[cardinality(v_outcomes)]);
    ELSE -- 3. All other events.
        SELECT array_agg(f.outcome), array_agg(f.is_found), bool_or(f.is_cut) INTO v_outcomes, v_found, v_is_cut
        FROM appstore.find_outcomes(filter, NULL, only_source, oldest_first, after_at, after_event_id, before_at, before_event_id,
                                    max_rows, 10000) AS f;
    END IF;

    -- 4. What each says, and what its contract gives today.
    RETURN QUERY
    SELECT o.event_id, o.run, o.received_at, o.settled_at, o.source, o.notification_type, o.subtype, o.environment, o.bundle_id, o.result,
           o.reason, o.attempts, o.transaction_id, o.original_transaction_id, coalesce(terms.user_id, contract.user_id, charge.user_id),
           coalesce(terms.product_id, contract.product_id, charge.product_id), terms.entitlements, terms.until,
           v_found[o.ordinality], v_is_cut AND o.ordinality = cardinality(v_outcomes), terms.is_active
    FROM unnest(v_outcomes) WITH ORDINALITY AS o
    LEFT JOIN LATERAL (
        SELECT min(e.user_id) AS user_id, min(e.product_id) AS product_id, array_agg(e.entitlement ORDER BY e.entitlement) AS entitlements,
               max(e.until) AS until, bool_or(appstore.is_active(statement_timestamp(), e.active_until)) AS is_active
        FROM appstore.entitlement_terms AS e
        WHERE e.original_transaction_id = o.original_transaction_id AND e.environment::text = o.environment
    ) AS terms ON true
    LEFT JOIN LATERAL ( -- a contract that gives nothing
        SELECT m.user_id, m.product_id FROM appstore.contracts AS m
        WHERE terms.entitlements IS NULL AND m.original_transaction_id = o.original_transaction_id AND m.environment::text = o.environment
        OFFSET 0
    ) AS contract ON true
    LEFT JOIN LATERAL ( -- a consumable may have no contract: its order names the user
        SELECT t.product_id, paid.user_id
        FROM appstore.transactions AS t
        LEFT JOIN LATERAL (
            SELECT d.user_id FROM appstore.orders AS d WHERE d.order_no = t.order_no AND d.environment = t.environment OFFSET 0
        ) AS paid ON true
        WHERE t.transaction_id = o.transaction_id AND t.environment::text = o.environment OFFSET 0
    ) AS charge ON true
    ORDER BY o.ordinality;
END
$$;
COMMENT ON FUNCTION appstore.find_events IS
    'The events that meet every condition and were settled after one place and before another in the order of (settled_at, event_id), at most '
    'max_rows: the latest first, or the oldest first. The place of the last row of a page is before, or after, of the next one. '
    'is_waiting: events without outcome instead, the latest id first, to which no other condition applies. user_id is the owner today of the '
    'contract that the event is about, else the user of the order; entitlements, until and is_active are what that contract gives today. A call checks '
    '10,000 outcomes at most; where it ends there, its last row is the last one that was checked, with is_cut, and is_found is false if that does '
    'not meet the conditions. An event can appear with an earlier settled_at than others that were visible before: its transaction was committed '
    'later.';
