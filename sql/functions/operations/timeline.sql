-- Without a SET clause, so that PostgreSQL inlines it: of a hundred contracts it would take most of the time to begin and end.
CREATE OR REPLACE FUNCTION appstore.entries_about(environment appstore.environment, original_transaction_id text)
RETURNS TABLE (occurred_at timestamptz, learned_at timestamptz, event_id bigint, what text, transaction_id text, product_id text, order_no uuid,
               user_id text, detail text)
LANGUAGE sql STABLE AS $$
    -- The planner expects a contract to have few charges. Where there may be hundreds, they are looked up by an index, which is never quadratic.
    WITH charge AS MATERIALIZED ( -- 1. the contract's charges
        SELECT t.*, CASE WHEN t.is_purchased THEN 'price=' || trim_scale(t.price / 1000.0) || coalesce(' ' || t.currency, '') END AS cost
        FROM appstore.transactions AS t
        WHERE t.environment = entries_about.environment AND t.original_transaction_id = entries_about.original_transaction_id
    ), effect AS MATERIALIZED (
        -- 2. Effects and their events. A requeued event has its outcome in the history until it runs again.
        SELECT e.*, coalesce(o.received_at, h.received_at, e.recorded_at) AS learned_at,
               coalesce(o.notification_type, h.notification_type) || coalesce('/' || coalesce(o.subtype, h.subtype), '') AS type
        FROM appstore.effects AS e
        LEFT JOIN LATERAL (
            SELECT o.received_at, o.notification_type, o.subtype FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0
        ) AS o ON true
        LEFT JOIN LATERAL (
            SELECT h.received_at, h.notification_type, h.subtype
            FROM appstore.outcome_history AS h WHERE h.event_id = e.event_id ORDER BY h.run DESC LIMIT 1
        ) AS h ON true
        WHERE e.environment = entries_about.environment AND e.original_transaction_id = entries_about.original_transaction_id
    ), granted AS MATERIALIZED ( -- of each period the first event that told of it
        SELECT DISTINCT ON (t.period_no) t.period_no, e.learned_at, e.event_id
        FROM effect AS e
        CROSS JOIN LATERAL (
            SELECT t.period_no FROM appstore.transactions AS t
            WHERE t.transaction_id = e.transaction_id AND t.environment = entries_about.environment
              AND t.original_transaction_id = entries_about.original_transaction_id OFFSET 0
        ) AS t
        WHERE e.kind = 'granted'
        ORDER BY t.period_no, e.learned_at, e.event_id
    ), claim AS MATERIALIZED ( -- 3. the claims to the contract
        SELECT k.* FROM appstore.ownership_claims AS k
        WHERE k.environment = entries_about.environment AND k.original_transaction_id = entries_about.original_transaction_id
    ), entry AS (
        SELECT e.occurred_at, e.learned_at, e.event_id, e.kind AS what, e.transaction_id, e.product_id, c.order_no, e.user_id,
               CASE
                   WHEN e.kind = 'granted' THEN concat_ws(', ',
                       'expires=' || to_char(c.expires_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), c.cost,
                       CASE WHEN c.quantity > 1 THEN 'quantity=' || c.quantity END, CASE WHEN NOT c.is_purchased THEN lower(c.in_app_ownership_type) END)
                   WHEN e.kind NOT IN ('refunded', 'revoked') THEN coalesce(CASE e.kind WHEN 'consumption_asked' THEN (
                       SELECT r.reason FROM appstore.refund_requests AS r
                       WHERE r.environment = e.environment AND r.notification_uuid = e.subject::uuid) END, e.type)
                   -- Receipts have whole seconds.
                   WHEN date_trunc('second', c.revocation_date) IN (date_trunc('second', e.occurred_at), date_trunc('second', e.restated_date)) THEN concat_ws(', ',
                       'revocation_reason=' || c.revocation_reason, 'percentage=' || trim_scale(c.revocation_percentage / 1000.0))
                   ELSE 'reversed'
               END AS detail,
               CASE e.kind WHEN 'granted' THEN 3 ELSE 7 END AS rank
        FROM effect AS e LEFT JOIN charge AS c ON c.transaction_id = e.transaction_id
        UNION ALL -- 4. the shop's orders that the charges name
        SELECT o.ordered_at, o.ordered_at, NULL, 'order_made', NULL, o.product_id, o.order_no, o.user_id, o.bundle_id, 1
        FROM (SELECT c.first_token FROM charge AS c UNION SELECT c.app_account_token FROM charge AS c) AS named (order_no)
        CROSS JOIN LATERAL (
            SELECT o.* FROM appstore.token_orders AS o
            WHERE o.order_no = named.order_no AND o.environment = entries_about.environment AND o.ordered_at IS NOT NULL OFFSET 0
        ) AS o
        UNION ALL -- 5. the paid periods, at the later time of charge and order
        SELECT o.paid_at, CASE WHEN g.learned_at IS NOT NULL THEN greatest(g.learned_at, o.ordered_at) END, g.event_id, 'order_paid',
               o.transaction_id, o.paid_product_id, o.order_no, o.user_id,
               concat_ws(', ', 'price=' || trim_scale(c.price / 1000.0) || coalesce(' ' || c.currency, ''),
                         CASE WHEN o.user_id IS NULL THEN 'owner_unknown' END, nullif(o.status, 'paid')), 4
        FROM (SELECT DISTINCT c.order_no FROM charge AS c) AS paid
        CROSS JOIN LATERAL (
            SELECT o.* FROM appstore.orders AS o WHERE o.order_no = paid.order_no AND o.environment = entries_about.environment OFFSET 0
        ) AS o
        LEFT JOIN LATERAL (
            SELECT t.price, t.currency FROM appstore.transactions AS t
            WHERE t.transaction_id = o.transaction_id AND t.environment = o.environment OFFSET 0
        ) AS c ON true
        LEFT JOIN granted AS g ON g.period_no = o.period_no
        WHERE o.original_transaction_id = entries_about.original_transaction_id
        UNION ALL
        (SELECT DISTINCT ON (o.order_no) c.purchase_date, NULL::timestamptz, NULL::bigint, 'order_not_paid', c.transaction_id, c.product_id,
                o.order_no, o.user_id, concat_ws(', ', o.reason, 'ordered=' || o.product_id, 'bundle_id=' || o.bundle_id), 5
         FROM charge AS c
         CROSS JOIN LATERAL (
             SELECT o.* FROM appstore.token_orders AS o WHERE o.order_no = c.first_token AND o.environment = entries_about.environment OFFSET 0
         ) AS o
         WHERE c.is_purchased AND o.reason IS NOT NULL
         ORDER BY o.order_no, c.purchase_date, length(c.transaction_id), c.transaction_id)
        UNION ALL -- 6. client posts, and links by the shop or an operator
        SELECT p.received_at, p.received_at, p.event_id, CASE WHEN p.is_receipt THEN 'receipt_submitted' ELSE 'submitted' END,
               p.transaction_id, c.product_id, c.order_no, p.user_id,
               CASE WHEN EXISTS (SELECT FROM claim AS k
                                 WHERE k.user_id = p.user_id AND NOT starts_with(k.source_id, '+')
                                   AND CASE k.kind WHEN 'client' THEN NOT p.is_receipt AND split_part(k.source_id, '/', 1) = p.transaction_id
                                                   WHEN 'receipt' THEN p.is_receipt AND k.source_id = p.transaction_id
                                                   WHEN 'restored' THEN k.effective_at = p.received_at END) THEN 'claimed'
                    WHEN owner.user_id IS NULL THEN 'owner_unknown'
                    WHEN owner.user_id = p.user_id THEN 'owned'
                    ELSE 'owner_conflict, owner=' || owner.user_id END, 2
        FROM appstore.client_posts AS p
        LEFT JOIN charge AS c ON c.transaction_id = p.transaction_id
        LEFT JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = c.order_no AND o.environment = entries_about.environment OFFSET 0
        ) AS o ON true
        LEFT JOIN appstore.contracts AS m
            ON m.environment = entries_about.environment AND m.original_transaction_id = entries_about.original_transaction_id
        LEFT JOIN LATERAL ( -- of a receipt that names no purchase: the owner when it was posted
            SELECT k.user_id FROM claim AS k WHERE p.transaction_id IS NULL AND k.effective_at <= p.received_at
            ORDER BY k.effective_at DESC, k.kind DESC, k.source_id DESC LIMIT 1
        ) AS owned ON true
        CROSS JOIN LATERAL (SELECT appstore.owner_of(o.user_id, coalesce(owned.user_id, m.user_id)) AS user_id) AS owner
        WHERE p.environment = entries_about.environment AND p.original_transaction_id = entries_about.original_transaction_id
        UNION ALL
        SELECT l.linked_at, l.linked_at, NULL, CASE WHEN l.user_id IS NULL THEN 'unlinked' ELSE 'linked' END, NULL, NULL, NULL, l.user_id,
               concat_ws(', ', 'by=' || l.actor, 'note=' || l.note), 6
        FROM appstore.owner_links AS l
        WHERE l.environment = entries_about.environment AND l.original_transaction_id = entries_about.original_transaction_id
        UNION ALL
        SELECT k.effective_at, NULL, NULL, 'claimed', c.transaction_id, c.product_id, c.app_account_token, k.user_id,
               CASE WHEN c.app_account_token <> c.first_token THEN 'later_token' ELSE 'user_token' END, 6
        FROM claim AS k JOIN charge AS c ON k.kind = 'token' AND k.source_id = c.transaction_id
        UNION ALL -- 7. answers to Apple
        SELECT a.settled_at, a.settled_at, NULL, 'consumption_answered', a.transaction_id, c.product_id, c.order_no, NULL,
               concat_ws(', ', 'by=' || a.decided_by, 'preference=' || (a.answer).preference), 8
        FROM charge AS c
        CROSS JOIN LATERAL (
            SELECT a.transaction_id, a.settled_at, a.decided_by, a.answer FROM appstore.consumption_decisions AS a
            WHERE a.transaction_id = c.transaction_id AND a.environment = entries_about.environment AND a.result = 'answered' OFFSET 0
        ) AS a
        UNION ALL -- 8. events about the contract that had no effect
        SELECT o.received_at, o.received_at, o.event_id, 'event_' || o.result, o.transaction_id, NULL, NULL, NULL,
               concat_ws(', ', o.notification_type || coalesce('/' || o.subtype, ''), o.reason), 9
        FROM (
            SELECT o.* FROM appstore.outcomes AS o WHERE o.original_transaction_id = entries_about.original_transaction_id OFFSET 0
        ) AS o
        WHERE o.environment = entries_about.environment::text AND o.result IN ('unhandled', 'rejected', 'failed', 'discarded')
        UNION ALL -- 9. the end of access
        SELECT DISTINCT t.active_until, NULL::timestamptz, NULL::bigint,
               CASE WHEN appstore.is_active(now(), t.active_until) THEN 'access_will_end' ELSE 'access_ended' END,
               NULL, t.product_id, NULL::uuid, t.user_id,
               CASE WHEN t.until <= now() THEN appstore.access_state(now(), t.until, t.active_until, t.grace_from, t.why_ended)
                    WHEN t.will_renew THEN 'will_renew' END, 10
        FROM appstore.entitlement_terms AS t
        WHERE t.environment = entries_about.environment AND t.original_transaction_id = entries_about.original_transaction_id
          AND t.until < 'infinity'
    )
    SELECT t.occurred_at, t.learned_at, t.event_id, t.what, t.transaction_id, t.product_id, t.order_no, t.user_id, nullif(t.detail, '')
    FROM entry AS t
    ORDER BY t.occurred_at, t.rank, t.learned_at, t.event_id, t.what, t.transaction_id, t.user_id
$$;
COMMENT ON FUNCTION appstore.entries_about IS 'What appstore.timeline returns, for statements about many contracts.';

CREATE OR REPLACE FUNCTION appstore.timeline(environment appstore.environment, original_transaction_id text)
RETURNS TABLE (occurred_at timestamptz, learned_at timestamptz, event_id bigint, what text, transaction_id text, product_id text, order_no uuid,
               user_id text, detail text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT * FROM appstore.entries_about(timeline.environment, timeline.original_transaction_id)
$$;
COMMENT ON FUNCTION appstore.timeline IS
    'The history of a contract, oldest first: its orders, charges, refunds, posts and owners, the events about it without effect, and the end of '
    'access. occurred_at is when it happened, learned_at when the inbox received it, event_id in which event. detail holds codes and name=value '
    'pairs, separated by commas.';
