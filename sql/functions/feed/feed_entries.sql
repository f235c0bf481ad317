-- What a step of the sequencer tells. Each function returns entries without a position, with the place of their tell in the step.

CREATE OR REPLACE FUNCTION appstore.effect_entries(p_kinds text[], p_refs text[], p_now timestamptz) RETURNS TABLE (place bigint, entry appstore.feed)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL, e.effect_id, 'effect.' || e.kind, e.environment, coalesce(t.bundle_id, m.bundle_id, e.bundle_id, e.vouched_bundle_id),
               e.original_transaction_id,
               -- A rescinded consent names a download of the app, and no purchase.
               CASE e.kind WHEN 'consent_rescinded' THEN appstore.app_transaction_user(e.environment, e.details ->> 'app_transaction_id')
                    ELSE appstore.owner_of(o.user_id, CASE WHEN e.vouched_bundle_id IS NULL OR m.bundle_id = e.vouched_bundle_id
                                                           THEN m.user_id END) END, NULL,
               e.occurred_at, p_now,
               jsonb_build_object(
                   'effect_subject', e.subject, 'learned_at', e.recorded_at, 'product_id', e.product_id, 'event_id', e.event_id::text,
                   'details', e.details,
                   'transaction', CASE WHEN t.transaction_id IS NOT NULL THEN jsonb_build_object(
                       'transaction_id', t.transaction_id, 'web_order_line_item_id', t.web_order_line_item_id, 'product_id', t.product_id,
                       'product_type', t.product_type, 'purchased_at', t.purchase_date, 'expires_at', t.expires_date, 'quantity', t.quantity,
                       'price_milliunits', CASE WHEN t.is_purchased THEN t.price END, 'currency', t.currency, 'storefront', t.storefront, 'offer_type', t.offer_type,
                       'offer_discount_type', t.offer_discount_type, 'ownership', t.in_app_ownership_type, 'reason', t.transaction_reason,
                       'revoked_at', t.revocation_date, 'revoked_percentage', t.revocation_percentage, 'revocation_type', t.revocation_type,
                       'revoked_seats', appstore.revoked_seats(t.multi_seat_info, t.quantity, t.revocation_date, t.revocation_type),
                       'additional_reason', t.additional_transaction_reason,
                       'billing_plan', t.billing_plan_type) END,
                   'order', CASE WHEN o.order_no IS NOT NULL THEN jsonb_build_object('no', o.order_no, 'status', o.status) END,
                   'renewal', CASE WHEN m.status IS NOT NULL THEN jsonb_build_object(
                       'status', m.status, 'will_renew', m.will_renew, 'renews_as', m.auto_renew_product_id,
                       'grace_until', m.grace_period_expires_date) END,
                   'seats', appstore.seats_of(m, c.multi_seat_info),
                   'commitment', appstore.commitment_of(m, c.commitment_info),
                   'access', coalesce((
                       SELECT jsonb_agg(jsonb_build_object('entitlement', a.entitlement, 'active', a.active, 'why', a.why,
                                                           'until', CASE WHEN isfinite(a.until) THEN a.until END) ORDER BY a.entitlement)
                       FROM appstore.access_of(e.environment, e.original_transaction_id, p_now) AS a), '[]')))::appstore.feed
    FROM unnest(p_kinds, p_refs) WITH ORDINALITY AS tell (kind, ref, place)
    CROSS JOIN LATERAL (SELECT e.* FROM appstore.effect_log AS e WHERE e.effect_id = tell.ref::uuid OFFSET 0) AS e
    LEFT JOIN LATERAL (
        SELECT t.* FROM appstore.transactions AS t WHERE t.transaction_id = e.transaction_id AND t.environment = e.environment OFFSET 0
    ) AS t ON true
    LEFT JOIN LATERAL (
        SELECT o.order_no, o.status, o.user_id FROM appstore.orders AS o
        WHERE o.order_no = t.order_no AND o.environment = e.environment OFFSET 0
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT m.* FROM appstore.contracts AS m
        WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = e.environment OFFSET 0
    ) AS m ON true
    LEFT JOIN LATERAL (
        SELECT c.multi_seat_info, c.commitment_info FROM appstore.transactions AS c
        WHERE c.transaction_id = m.current_transaction_id AND c.environment = e.environment OFFSET 0
    ) AS c ON true
    WHERE tell.kind = 'effect';
END
$$;
COMMENT ON FUNCTION appstore.effect_entries IS
    'The entries of effects: their details, the order and the user of now, the charge, the state of the renewal, seats and commitment, and the access '
    'that the contract gives.';

CREATE OR REPLACE FUNCTION appstore.access_entries(
    p_kinds text[], p_environments appstore.environment[], p_refs text[], p_turned appstore.contract_key[], p_now timestamptz, p_enabled_at timestamptz)
RETURNS TABLE (place bigint, entry appstore.feed)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        -- 1. The contracts, each at its last tell; those that only the clock changes at the end.
        SELECT contract.place, contract.environment, contract.id, m.bundle_id, m.user_id AS owner
        FROM (
            SELECT max(c.place) AS place, c.environment, c.id
            FROM (SELECT tell.place, tell.environment, tell.ref AS id
                  FROM unnest(p_kinds, p_environments, p_refs) WITH ORDINALITY AS tell (kind, environment, ref, place)
                  WHERE tell.kind = 'contract'
                  UNION ALL
                  SELECT cardinality(p_kinds) + 1, turned.environment, turned.id FROM unnest(p_turned) AS turned (environment, id)) AS c
            GROUP BY c.environment, c.id
        ) AS contract
        LEFT JOIN LATERAL (
            SELECT m.bundle_id, m.user_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = contract.id AND m.environment = contract.environment OFFSET 0
        ) AS m ON true
    ), present AS MATERIALIZED (
        SELECT asked.place, asked.environment, asked.id, asked.bundle_id, a.*
        FROM asked CROSS JOIN LATERAL (SELECT a.* FROM appstore.access_of(asked.environment, asked.id, p_now) AS a OFFSET 0) AS a
    ), told AS MATERIALIZED (
        SELECT asked.place, asked.bundle_id, asked.owner, t.* FROM asked CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.told_access AS t
            WHERE t.original_transaction_id = asked.id AND t.environment = asked.environment OFFSET 0
        ) AS t
    ), compared AS MATERIALIZED (
        -- 2. What is, beside what was told. Where there is no row any more, a row that was told as active has ended.
        SELECT coalesce(p.place, t.place) AS place, coalesce(p.environment, t.environment) AS environment,
               coalesce(p.id, t.original_transaction_id) AS id, coalesce(p.bundle_id, t.bundle_id) AS bundle_id,
               coalesce(p.entitlement, t.entitlement) AS entitlement, coalesce(p.user_id, t.user_id) AS user_id, p.product_id,
               coalesce(p.active, false) AS active, p.until, p.turns_at,
               CASE WHEN p.user_id IS NOT NULL THEN p.why WHEN t.user_id = t.owner THEN 'plan_changed' ELSE 'owner_changed' END AS why,
               t.active AS was_active, t.until AS was_until, t.why AS was_why, t.turns_at AS turned_at, coalesce(t.changes, 0) AS changes,
               CASE WHEN p.user_id IS NULL THEN t.active
                    ELSE t.user_id IS NULL OR (p.active, p.until, p.why) IS DISTINCT FROM (t.active, t.until, t.why) END AS is_other,
               p.user_id IS NULL AND t.user_id IS DISTINCT FROM t.owner AND t.why <> 'owner_changed' AS is_moved, t.owner
        FROM present AS p
        FULL JOIN told AS t
            ON t.environment = p.environment AND t.original_transaction_id = p.id AND t.entitlement = p.entitlement AND t.user_id = p.user_id
        WHERE p.user_id IS NOT NULL OR t.active OR t.user_id IS DISTINCT FROM t.owner
    ), final AS MATERIALIZED (
        SELECT c.*, c.changes + CASE WHEN c.is_other OR c.is_moved THEN 1 ELSE 0 END AS now_changes FROM compared AS c
    ), remembered AS (
        INSERT INTO appstore.told_access AS k
            (environment, original_transaction_id, entitlement, user_id, active, until, why, turns_at, changes)
        SELECT f.environment, f.id, f.entitlement, f.user_id, f.active, f.until, f.why, f.turns_at, f.now_changes
        FROM final AS f WHERE f.is_other OR f.is_moved OR f.turns_at IS DISTINCT FROM f.turned_at
        ON CONFLICT (original_transaction_id, environment, entitlement, user_id) DO UPDATE
        SET active = excluded.active, until = excluded.until, why = excluded.why, turns_at = excluded.turns_at, changes = excluded.changes
    )
    SELECT f.place,
           ROW(NULL,
               appstore.feed_id(jsonb_build_array('access', p_enabled_at, f.environment, f.id, f.entitlement, f.user_id, f.now_changes, f.active,
                                                  f.until, f.why)),
               'access.changed', f.environment, f.bundle_id, f.id, f.user_id, NULL,
               CASE WHEN f.turned_at <= p_now THEN f.turned_at ELSE p_now END, p_now,
               jsonb_build_object(
                   'entitlement', f.entitlement, 'product_id', f.product_id, 'active', f.active, 'why', f.why,
                   'until', CASE WHEN isfinite(f.until) THEN f.until END,
                   'before', CASE WHEN f.was_why IS NOT NULL THEN jsonb_build_object(
                       'active', f.was_active, 'why', f.was_why, 'until', CASE WHEN isfinite(f.was_until) THEN f.was_until END) END))::appstore.feed
    FROM final AS f WHERE f.is_other
    UNION ALL
    SELECT moved.place,
           ROW(NULL,
               appstore.feed_id(jsonb_build_array('owner', p_enabled_at, moved.environment, moved.id, moved.user_id, moved.owner,
                                                  moved.changes)),
               'owner.changed', moved.environment, moved.bundle_id, moved.id, moved.owner, moved.user_id, p_now, p_now,
               jsonb_build_object('evidence', (
                   SELECT jsonb_build_object('kind', k.kind, 'source_id', k.source_id, 'effective_at', k.effective_at)
                   FROM appstore.ownership_claims AS k
                   WHERE k.original_transaction_id = moved.id AND k.environment = moved.environment
                   ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC LIMIT 1)))::appstore.feed
    FROM (SELECT f.place, f.environment, f.id, f.bundle_id, f.user_id, f.owner, sum(f.now_changes) AS changes -- grows with each time
          FROM final AS f GROUP BY f.place, f.environment, f.id, f.bundle_id, f.user_id, f.owner HAVING bool_or(f.is_moved)) AS moved;
END
$$;
COMMENT ON FUNCTION appstore.access_entries IS
    'The entries access.changed of these contracts: where appstore.entitlements differs from what was told last, which it then replaces. And the '
    'entries owner.changed: where what was told is of a user that no longer owns the contract.';

CREATE OR REPLACE FUNCTION appstore.order_entries(
    p_kinds text[], p_environments appstore.environment[], p_refs text[], p_now timestamptz, p_enabled_at timestamptz)
RETURNS TABLE (place bigint, entry appstore.feed)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT max(tell.place) AS place, tell.environment, tell.ref::uuid AS order_no
        FROM unnest(p_kinds, p_environments, p_refs) WITH ORDINALITY AS tell (kind, environment, ref, place)
        WHERE tell.kind = 'order' GROUP BY tell.environment, tell.ref
    ), compared AS MATERIALIZED (
        SELECT asked.place, o.*, coalesce(t.changes, 0) + 1 AS changes
        FROM asked
        CROSS JOIN LATERAL (
            SELECT o.* FROM appstore.order_status AS o
            WHERE o.order_no = asked.order_no AND o.environment = asked.environment AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS o
        LEFT JOIN LATERAL (
            SELECT t.status, t.changes FROM appstore.told_orders AS t
            WHERE t.order_no = asked.order_no AND t.environment = asked.environment OFFSET 0
        ) AS t ON true
        WHERE o.status <> coalesce(t.status, 'pending')
    ), remembered AS (
        INSERT INTO appstore.told_orders AS k (environment, order_no, status, changes)
        SELECT c.environment, c.order_no, c.status, c.changes FROM compared AS c
        ON CONFLICT (order_no, environment) DO UPDATE SET status = excluded.status, changes = excluded.changes
    )
    SELECT c.place,
           ROW(NULL, appstore.feed_id(jsonb_build_array('order', p_enabled_at, c.environment, c.order_no, c.changes, c.status)),
               CASE c.status WHEN 'paid' THEN 'order.paid' ELSE 'order.refunded' END, c.environment, c.bundle_id,
               c.original_transaction_id, c.user_id, NULL,
               CASE c.status WHEN 'paid' THEN coalesce(c.paid_at, p_now) ELSE p_now END, p_now,
               jsonb_build_object('order_no', c.order_no, 'status', c.status, 'product_id', c.product_id, 'ordered_at', c.ordered_at,
                                  'paid_at', c.paid_at, 'quantity', c.quantity, 'price_milliunits', c.price, 'currency', c.currency,
                                  'transaction_id', c.transaction_id))::appstore.feed
    FROM compared AS c WHERE c.status <> 'pending';
END
$$;
COMMENT ON FUNCTION appstore.order_entries IS
    'The entries order.paid and order.refunded of the orders that the shop made, where their status differs from the one that was told last.';

CREATE OR REPLACE FUNCTION appstore.failure_entries(p_kinds text[], p_refs text[], p_now timestamptz) RETURNS TABLE (place bigint, entry appstore.feed)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL, appstore.feed_id(jsonb_build_array('failed', o.event_id, o.received_at, o.run)), 'inbox.failed',
               CASE WHEN o.environment IN ('Production', 'Sandbox') THEN o.environment::appstore.environment END, o.bundle_id,
               o.original_transaction_id, NULL, NULL, o.settled_at, p_now,
               jsonb_build_object('event_id', o.event_id::text, 'source', o.source, 'received_at', o.received_at, 'attempts', o.attempts,
                                  'reason', o.reason, 'notification_type', o.notification_type, 'subtype', o.subtype,
                                  'notification_uuid', o.notification_uuid, 'transaction_id', o.transaction_id))::appstore.feed
    FROM unnest(p_kinds, p_refs) WITH ORDINALITY AS tell (kind, ref, place)
    CROSS JOIN LATERAL (
        SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = tell.ref::bigint AND o.result = 'failed' OFFSET 0
    ) AS o
    WHERE tell.kind = 'failed';
END
$$;
COMMENT ON FUNCTION appstore.failure_entries IS
    'The entries inbox.failed of events that are still failed. The error is not in them: the outcome has it.';

CREATE OR REPLACE FUNCTION appstore.notification_entries(p_kinds text[], p_refs text[], p_now timestamptz) RETURNS TABLE (place bigint, entry appstore.feed)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL,
               CASE o.result WHEN 'rejected' THEN appstore.feed_id(jsonb_build_array('rejected', o.notification_uuid)) ELSE o.notification_uuid END,
               appstore.told_as(o.result, o.reason, o.notification_uuid),
               CASE WHEN o.environment IN ('Production', 'Sandbox') THEN o.environment::appstore.environment END, o.bundle_id,
               o.original_transaction_id, NULL, NULL, o.received_at, p_now,
               jsonb_build_object('event_id', o.event_id::text, 'notification_uuid', o.notification_uuid, 'notification_type', o.notification_type,
                                  'subtype', o.subtype, 'reason', o.reason))::appstore.feed
    FROM unnest(p_kinds, p_refs) WITH ORDINALITY AS tell (kind, ref, place)
    CROSS JOIN LATERAL ( -- it may have been requeued since
        SELECT o.event_id, o.result, o.reason, o.notification_uuid, o.notification_type, o.subtype, o.environment, o.bundle_id,
               o.original_transaction_id, o.received_at
        FROM appstore.outcomes AS o
        WHERE o.event_id = split_part(tell.ref, ' ', 1)::bigint AND o.run = split_part(tell.ref, ' ', 2)::integer
        UNION ALL
        SELECT h.event_id, h.result, h.reason, h.notification_uuid, h.notification_type, h.subtype, h.environment, h.bundle_id,
               h.original_transaction_id, h.received_at
        FROM appstore.outcome_history AS h
        WHERE h.event_id = split_part(tell.ref, ' ', 1)::bigint AND h.run = split_part(tell.ref, ' ', 2)::integer
    ) AS o
    WHERE tell.kind = 'raw';
END
$$;
COMMENT ON FUNCTION appstore.notification_entries IS
    'The entries notification.received and notification.rejected, by the outcome of the run that was told. A notification that is received after '
    'it was rejected has two entries, with two ids. The body is in the inbox.';

CREATE OR REPLACE FUNCTION appstore.endpoint_entries(p_kinds text[], p_refs text[], p_told_at timestamptz[], p_now timestamptz)
RETURNS TABLE (place bigint, entry appstore.feed)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT tell.place,
           ROW(NULL, appstore.feed_id(jsonb_build_array(tell.kind, tell.told_at, tell.ref)),
               CASE tell.kind WHEN 'test' THEN 'test' ELSE 'endpoint.disabled' END, NULL, NULL, NULL, NULL, NULL, tell.told_at, p_now,
               jsonb_build_object('endpoint', split_part(tell.ref, ' ', 1))
                   || CASE tell.kind WHEN 'test' THEN '{}'
                           ELSE jsonb_build_object('why', substr(tell.ref, strpos(tell.ref, ' ') + 1)) END)::appstore.feed
    FROM unnest(p_kinds, p_refs, p_told_at) WITH ORDINALITY AS tell (kind, ref, told_at, place)
    WHERE tell.kind IN ('test', 'disabled');
END
$$;
COMMENT ON FUNCTION appstore.endpoint_entries IS 'The entries test, with the id that appstore.test_endpoint returned, and endpoint.disabled.';
