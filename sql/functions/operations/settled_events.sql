-- The outcomes are read along outcomes_by_time, and then each row is looked up by its key, under any statistics.
CREATE OR REPLACE FUNCTION appstore.settled_events(
    settled_from timestamptz, after_event_id bigint DEFAULT 0, max_events integer DEFAULT 1000, only_result appstore.result DEFAULT NULL,
    only_type text DEFAULT NULL, only_app text DEFAULT NULL)
RETURNS TABLE (settled_at timestamptz, event_id bigint, run integer, received_at timestamptz, source text, notification_type text,
               subtype text, environment text, bundle_id text, result appstore.result, reason text, transaction_id text,
               original_transaction_id text, user_id text, product_id text, entitlements text[], until timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off SET jit = off AS $$
    SELECT o.settled_at, o.event_id, o.run, o.received_at, o.source, o.notification_type, o.subtype, o.environment, o.bundle_id, o.result,
           o.reason, o.transaction_id, o.original_transaction_id, coalesce(contract.user_id, charge.user_id),
           coalesce(contract.product_id, charge.product_id), terms.entitlements, terms.until
    FROM (
        SELECT o.* FROM appstore.outcomes AS o
        WHERE (o.settled_at, o.event_id) > (settled_from, after_event_id)
          AND (only_result IS NULL OR o.result = only_result)
          AND (only_type IS NULL OR only_type = o.notification_type OR only_type = o.notification_type || '/' || o.subtype)
          AND (only_app IS NULL OR o.bundle_id = only_app)
        ORDER BY o.settled_at, o.event_id
        LIMIT max_events
    ) AS o
    LEFT JOIN LATERAL (
        SELECT m.environment, m.user_id, m.product_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = o.original_transaction_id AND m.environment::text = o.environment OFFSET 0
    ) AS contract ON true
    LEFT JOIN LATERAL ( -- a consumable has no contract: its order names the user
        SELECT t.product_id, paid.user_id
        FROM appstore.transactions AS t
        LEFT JOIN LATERAL (
            SELECT d.user_id FROM appstore.orders AS d WHERE d.order_no = t.order_no AND d.environment = t.environment OFFSET 0
        ) AS paid ON true
        WHERE t.transaction_id = o.transaction_id AND t.environment::text = o.environment OFFSET 0
    ) AS charge ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(e.entitlement ORDER BY e.entitlement) AS entitlements, max(e.until) AS until
        FROM appstore.entitlement_terms AS e
        WHERE e.original_transaction_id = o.original_transaction_id AND e.environment = contract.environment
    ) AS terms ON true
    ORDER BY o.settled_at, o.event_id
$$;
COMMENT ON FUNCTION appstore.settled_events IS
    'The events that were settled at settled_from or later, in the order of (settled_at, event_id), of one instant those after after_event_id; at '
    'most max_events. user_id is the owner today of the contract that the event is about, else the user of the order; entitlements and until are '
    'what that contract gives today. only_type is a type or type/subtype. An event can appear with an earlier settled_at than others that were '
    'visible before: its transaction was committed later.';

CREATE OR REPLACE FUNCTION appstore.settled_since(events integer) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT min(latest.settled_at)
    FROM (SELECT o.settled_at FROM appstore.outcomes AS o ORDER BY o.settled_at DESC, o.event_id DESC LIMIT events) AS latest
$$;
COMMENT ON FUNCTION appstore.settled_since IS
    'Since when the latest so many events have been settled; null when there are none.';
