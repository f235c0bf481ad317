-- What people, the shop and the digest see of the books, with the legacy half.

-- What is paid and nobody's, or refused to somebody: as in m0009, with who posted a receipt of somebody else's purchase (owner_conflict).
CREATE OR REPLACE VIEW appstore.unmatched AS
WITH unowned AS (
    -- 1. Contracts with periods that are nobody's. An order that the shop should know goes first: it may settle all others.
    SELECT DISTINCT ON (o.environment, o.origin_no)
           o.environment, o.no, o.period_no, o.trade_no, o.origin_no, o.paid_product_id, o.paid_at,
           count(*) OVER (PARTITION BY o.environment, o.origin_no) AS periods
    FROM appstore.orders AS o
    WHERE o.user_id IS NULL AND o.status IN ('paid', 'partly_refunded')
    ORDER BY o.environment, o.origin_no, o.no = o.period_no, o.paid_at, length(o.trade_no), o.trade_no COLLATE "C"
), explained AS (
    SELECT u.*, coalesce(named.no, u.no) AS concerned, named.product_id AS ordered_product, named.bundle_id AS ordered_bundle,
           coalesce(named.user_id, posted.user_id) AS user_id,
           CASE WHEN u.no <> u.period_no THEN 'order_unknown'
                WHEN named.product_id <> t.product_id THEN 'product_mismatch'
                WHEN named.bundle_id <> t.bundle_id THEN 'bundle_mismatch'
                WHEN named.no IS NOT NULL THEN 'order_paid_before'
                WHEN posted.user_id IS NOT NULL THEN 'too_late'
                ELSE 'no_user' END AS reason
    FROM unowned AS u
    LEFT JOIN appstore.transactions AS t ON t.environment = u.environment AND t.transaction_id = u.trade_no
    LEFT JOIN appstore.orders AS named ON u.no = u.period_no AND named.environment = u.environment AND named.no = t.first_token
    LEFT JOIN LATERAL (
        SELECT s.user_id FROM appstore.submissions AS s
        WHERE u.no = u.period_no AND s.environment = u.environment AND s.original_transaction_id = u.origin_no
        ORDER BY s.received_at, s.event_id LIMIT 1
    ) AS posted ON true
), unpaid AS (
    -- 2. Orders whose payment went to another account, for they are for something else.
    SELECT n.environment, n.no, n.user_id, n.product_id AS ordered_product, n.bundle_id AS ordered_bundle, t.transaction_id,
           t.original_transaction_id, t.product_id, t.purchase_date, given.user_id AS given_to,
           CASE WHEN n.product_id <> t.product_id THEN 'product_mismatch' ELSE 'bundle_mismatch' END AS reason
    FROM appstore.orders AS n
    CROSS JOIN LATERAL (
        SELECT t.* FROM appstore.transactions AS t
        WHERE t.environment = n.environment AND t.first_token = n.no AND t.is_purchased
        ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id COLLATE "C" LIMIT 1
    ) AS t
    JOIN appstore.orders AS given ON given.environment = t.environment AND given.no = t.order_no
    WHERE n.reason IS NOT NULL AND given.user_id <> n.user_id AND given.status <> 'refunded'
), posted AS (
    -- 3. Posts of charges that are somebody else's, or a family member's and came too late.
    SELECT s.environment, s.original_transaction_id, s.user_id, s.received_at, s.event_id, t.order_no, t.transaction_id, t.product_id,
           t.purchase_date, owner.user_id AS owner
    FROM appstore.submissions AS s
    JOIN appstore.transactions AS t ON t.environment = s.environment AND t.transaction_id = s.transaction_id
    LEFT JOIN appstore.orders AS o ON o.environment = t.environment AND o.no = t.order_no
    LEFT JOIN appstore.member_contracts AS m ON m.environment = s.environment AND m.contract_id = s.original_transaction_id
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE owner.user_id <> s.user_id OR (owner.user_id IS NULL AND NOT t.is_purchased)
    UNION ALL
    -- 4. Posts of receipts with somebody else's purchase in them: the one named as just made, else what was somebody else's then and is so
    --    still. A consumable that nobody names is in receipts by the way.
    SELECT s.environment, s.original_transaction_id, s.user_id, s.received_at, s.event_id, t.order_no, t.transaction_id, t.product_id,
           t.purchase_date, owner.user_id
    FROM appstore.receipt_submissions AS s
    JOIN appstore.member_contracts AS m ON m.environment = s.environment AND m.contract_id = s.original_transaction_id
    JOIN appstore.transactions AS t
        ON t.environment = s.environment AND t.transaction_id = coalesce(nullif(s.transaction_id, ''), m.current_transaction_id)
    LEFT JOIN appstore.orders AS o ON s.transaction_id <> '' AND o.environment = t.environment AND o.no = t.order_no
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE owner.user_id <> s.user_id
      AND (s.transaction_id <> '' OR (t.confers_access AND s.user_id IS DISTINCT FROM (
               SELECT c.user_id FROM appstore.claims AS c
               WHERE c.environment = s.environment AND c.original_transaction_id = s.original_transaction_id
                 AND c.effective_at <= s.received_at
               ORDER BY c.effective_at DESC, c.evidence COLLATE "C" DESC LIMIT 1)))
), refused AS (
    -- 5. Once for each contract and poster. A link made after the post has settled it, whoever it names.
    SELECT DISTINCT ON (p.environment, p.original_transaction_id, p.user_id) p.*
    FROM posted AS p
    WHERE NOT EXISTS (SELECT FROM appstore.owner_links AS l
                      WHERE l.environment = p.environment AND l.original_transaction_id = p.original_transaction_id
                        AND l.linked_at >= p.received_at)
      AND NOT EXISTS (SELECT FROM appstore.orders AS u
                      WHERE u.environment = p.environment AND u.origin_no = p.original_transaction_id AND u.user_id IS NULL
                        AND u.status IN ('paid', 'partly_refunded'))
    ORDER BY p.environment, p.original_transaction_id, p.user_id, p.received_at, p.event_id
)
SELECT e.environment, e.concerned AS no, e.reason, e.trade_no AS transaction_id, e.origin_no AS original_transaction_id,
       e.paid_product_id AS product_id, e.paid_at AS purchase_date,
       CASE e.reason
           WHEN 'order_unknown' THEN 'Call create_order with this number.'
           WHEN 'no_user' THEN 'The app posts it within 72 hours of the purchase, or call link_owner.'
           WHEN 'too_late' THEN 'Call link_owner if it is ' || e.user_id || '''s, or refund.'
           WHEN 'order_paid_before' THEN 'One token pays once. Call link_owner if it is ' || coalesce(e.user_id || '''s', 'somebody''s')
                || ', or refund.'
           ELSE 'The order is for ' || e.ordered_product || coalesce(' of ' || e.ordered_bundle, '')
                || '. Call link_owner if this will do for ' || e.user_id || ', or refund.'
       END AS resolution,
       e.user_id, e.periods
FROM explained AS e
UNION ALL
SELECT u.environment, u.no, u.reason, u.transaction_id, u.original_transaction_id, u.product_id, u.purchase_date,
       'The order is for ' || u.ordered_product || coalesce(' of ' || u.ordered_bundle, '') || '; what was bought went to ' || u.given_to
       || ', whose contract it is. Call link_owner if it is ' || u.user_id || '''s, or refund.',
       u.user_id, 1
FROM unpaid AS u
WHERE NOT EXISTS (SELECT FROM appstore.owner_links AS l
                  WHERE l.environment = u.environment AND l.original_transaction_id = u.original_transaction_id
                    AND l.linked_at >= u.purchase_date)
UNION ALL
SELECT r.environment, r.order_no, CASE WHEN r.owner IS NULL THEN 'too_late' ELSE 'owner_conflict' END, r.transaction_id,
       r.original_transaction_id, r.product_id, r.purchase_date,
       CASE WHEN r.owner IS NULL THEN 'Call link_owner if it is ' || r.user_id || '''s.'
            ELSE 'It is ' || r.owner || '''s. Call link_owner, for ' || r.user_id || ' or to confirm ' || r.owner || '.' END,
       r.user_id, 1
FROM refused AS r;

CREATE OR REPLACE FUNCTION appstore.api_subscription(environment text, original_transaction_id text, bundle_ids text[]) RETURNS TABLE(user_id text, bundle_id text, product_id text, product_type text, status integer, active boolean, ends_at timestamp with time zone, will_renew boolean, renews_as text, expiration_intent integer, in_billing_retry boolean, grace_ends_at timestamp with time zone, started_at timestamp with time zone, period_started_at timestamp with time zone, period_ends_at timestamp with time zone, revoked_at timestamp with time zone, transaction_id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    SELECT m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, clock_timestamp() < m.access_until,
           CASE WHEN isfinite(m.access_until) THEN m.access_until END, m.will_renew,
           CASE WHEN legacy THEN l.auto_renew_product_id ELSE s.auto_renew_product_id END,
           CASE WHEN legacy THEN l.expiration_intent ELSE s.expiration_intent END,
           CASE WHEN legacy THEN l.is_in_billing_retry_period ELSE s.is_in_billing_retry_period END,
           CASE WHEN legacy THEN l.grace_period_expires_date ELSE s.grace_period_expires_date END, m.started_at, m.current_period_start, m.current_period_end,
           m.revoked_at, m.current_transaction_id
    FROM appstore.member_contracts AS m
    LEFT JOIN appstore.subscriptions AS s ON s.environment = m.environment AND s.original_transaction_id = m.contract_id
    LEFT JOIN LATERAL (
        SELECT r.* FROM appstore.legacy_renewals AS r
        WHERE r.original_transaction_id = m.contract_id AND r.environment = m.environment AND r.bundle_id = m.bundle_id OFFSET 0
    ) AS l ON true
    CROSS JOIN LATERAL appstore.legacy_counts(s, l) AS legacy
    WHERE m.environment = api_subscription.environment AND m.contract_id = api_subscription.original_transaction_id
      AND (api_subscription.bundle_ids IS NULL OR m.bundle_id = ANY (api_subscription.bundle_ids))
$$;

CREATE OR REPLACE FUNCTION appstore.state_digest_parts(environment text) RETURNS TABLE(part text, rows bigint, digest text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET "DateStyle" TO 'ISO, YMD'
    SET bytea_output TO 'hex'
    AS $$
#variable_conflict use_column
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT 'transactions', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.bundle_id, t.product_id, t.product_type,
                   t.subscription_group_identifier, t.purchase_date, t.original_purchase_date, t.expires_date, t.quantity,
                   t.app_account_token, t.in_app_ownership_type, t.revocation_date, t.revocation_reason, t.revocation_type,
                   t.revocation_percentage, t.is_upgraded, t.offer_type, t.offer_identifier, t.offer_discount_type, t.offer_period,
                   t.storefront, t.storefront_id, t.transaction_reason, t.currency, t.price, t.app_transaction_id, t.billing_plan_type,
                   t.signed_date, t.payload_hash, t.first_signed_date, t.first_token, t.first_token_signed_date, t.first_token_hash,
                   t.period_no, t.is_subscription, t.order_no, t.receipt_date, t.receipt_hash, t.receipt_expires_date,
                   t.receipt_revocation_date, t.receipt_revocation_reason, t.receipt_is_upgraded)::text AS line
        FROM appstore.transactions AS t WHERE t.environment = state_digest_parts.environment
        ORDER BY t.transaction_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'subscriptions', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(s.original_transaction_id, s.status, s.product_id, s.auto_renew_product_id, s.auto_renew_status, s.expiration_intent,
                   s.is_in_billing_retry_period, s.price_increase_status, s.grace_period_expires_date, s.renewal_date, s.renewal_price,
                   s.currency, s.offer_type, s.offer_identifier, s.offer_discount_type, s.offer_period, s.eligible_win_back_offer_ids,
                   s.recent_subscription_start_date, s.app_account_token, s.app_transaction_id, s.renewal_billing_plan_type,
                   s.signed_date, s.fact_hash)::text AS line
        FROM appstore.subscriptions AS s WHERE s.environment = state_digest_parts.environment
        ORDER BY s.original_transaction_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'legacy_renewals', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(l.original_transaction_id, l.bundle_id, l.provenance, l.product_id, l.auto_renew_product_id, l.auto_renew_status,
                   l.is_in_billing_retry_period, l.expiration_intent, l.grace_period_expires_date, l.price_increase_status,
                   l.promotional_offer_id, l.offer_code_ref_name, l.stated_at, l.fact_hash)::text AS line
        FROM appstore.legacy_renewals AS l WHERE l.environment = state_digest_parts.environment
        ORDER BY l.original_transaction_id COLLATE "C", l.bundle_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'refund_statements', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(r.notification_uuid, r.kind, r.transaction_id, r.original_transaction_id, r.reason, r.signed_date)::text AS line
        FROM appstore.refund_statements AS r WHERE r.environment = state_digest_parts.environment
        ORDER BY r.notification_uuid COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'orders', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(o.no, o.user_id, o.product_id, o.bundle_id, o.status, o.reason, o.period_no, o.trade_no, o.origin_no,
                   o.web_order_line_item_id, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency)::text AS line
        FROM appstore.orders AS o WHERE o.environment = state_digest_parts.environment
        ORDER BY o.no) AS sorted;
    RETURN QUERY
    SELECT 'claims', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(c.evidence, c.original_transaction_id, c.user_id, c.effective_at)::text AS line
        FROM appstore.claims AS c WHERE c.environment = state_digest_parts.environment
        ORDER BY c.original_transaction_id COLLATE "C", c.evidence COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'member_contracts', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(m.contract_id, m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, m.will_renew, m.started_at,
                   m.current_transaction_id, m.current_period_start, m.current_period_end, m.revoked_at, m.access_until)::text AS line
        FROM appstore.member_contracts AS m WHERE m.environment = state_digest_parts.environment
        ORDER BY m.contract_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'effects', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(e.kind, e.effect_key)::text AS line
        FROM appstore.effects AS e WHERE e.environment = state_digest_parts.environment
        ORDER BY e.kind COLLATE "C", e.effect_key COLLATE "C") AS sorted;
END
$$;

-- Receipts have whole seconds.
CREATE OR REPLACE FUNCTION appstore.timeline(environment text, original_transaction_id text) RETURNS TABLE(occurred_at timestamp with time zone, learned_at timestamp with time zone, event_id bigint, what text, transaction_id text, product_id text, order_no uuid, user_id text, detail text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    WITH charge AS MATERIALIZED (
        -- 1. Its charges, and what each cost.
        SELECT t.*, trim_scale(t.price / 1000.0) || coalesce(' ' || t.currency, '') AS cost
        FROM appstore.transactions AS t
        WHERE t.environment = timeline.environment AND t.original_transaction_id = timeline.original_transaction_id
    ), effect AS MATERIALIZED (
        -- 2. Effects, and the event that brought each: an event that was requeued has its outcome in the history for a moment. What another
        --    app's secret vouches for did not happen to this contract.
        SELECT e.*, coalesce(o.received_at, h.received_at, e.recorded_at) AS learned_at,
               coalesce(o.notification_type, h.notification_type) || coalesce('/' || coalesce(o.subtype, h.subtype), '') AS said
        FROM appstore.effects AS e
        LEFT JOIN appstore.outcomes AS o ON o.event_id = e.event_id
        LEFT JOIN LATERAL (
            SELECT h.received_at, h.notification_type, h.subtype
            FROM appstore.outcome_history AS h WHERE h.event_id = e.event_id ORDER BY h.run DESC LIMIT 1
        ) AS h ON true
        WHERE e.environment = timeline.environment AND e.original_transaction_id = timeline.original_transaction_id
          AND NOT EXISTS (SELECT FROM charge AS c WHERE c.bundle_id <> e.vouched_bundle_id)
    ), told AS (
        SELECT e.occurred_at, e.learned_at, e.event_id, e.kind AS what, e.transaction_id, e.product_id, e.order_no, e.user_id,
               CASE
                   WHEN e.kind = 'granted' THEN concat_ws(', ',
                       'until ' || to_char(c.expires_date AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), c.cost,
                       CASE WHEN c.quantity > 1 THEN c.quantity || ' pieces' END, CASE WHEN NOT c.is_purchased THEN 'by family sharing' END)
                   WHEN e.kind IN ('refunded', 'revoked') THEN
                       -- Only while the register still says so: a reversal takes it back.
                       CASE WHEN date_trunc('second', c.revocation_date) = date_trunc('second', e.occurred_at) THEN concat_ws(', ',
                           CASE c.revocation_reason WHEN 0 THEN 'other reason' WHEN 1 THEN 'issue within the app'
                                                    ELSE 'reason ' || c.revocation_reason END,
                           trim_scale(c.revocation_percentage / 1000.0) || ' %')
                       ELSE 'taken back since' END
                   WHEN e.kind = 'consumption_asked' THEN coalesce((
                       SELECT r.reason FROM appstore.refund_statements AS r
                       WHERE r.environment = timeline.environment AND r.notification_uuid = e.effect_key), e.said)
                   ELSE e.said
               END AS detail,
               CASE e.kind WHEN 'granted' THEN 3 ELSE 7 END AS rank, e.effect_id AS position
        FROM effect AS e
        LEFT JOIN charge AS c ON c.transaction_id = e.transaction_id
        UNION ALL
        -- 3. The shop's orders that its charges name.
        SELECT o.ordered_at, o.ordered_at, NULL, 'order_made', NULL, o.product_id, o.no, o.user_id, o.bundle_id, 1, 0
        FROM (SELECT c.first_token FROM charge AS c UNION SELECT c.app_account_token FROM charge AS c) AS named (no)
        JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = named.no
        WHERE o.ordered_at IS NOT NULL
        UNION ALL
        -- 4. Its paid periods. Both the charge and the order must be known: the later of them pays.
        SELECT o.paid_at, CASE WHEN g.learned_at IS NOT NULL THEN greatest(g.learned_at, o.ordered_at) END, g.event_id, 'order_paid',
               o.trade_no, o.paid_product_id, o.no, o.user_id,
               concat_ws(', ', c.cost, CASE WHEN o.user_id IS NULL THEN 'nobody''s yet' END,
                         CASE WHEN o.status <> 'paid' THEN replace(o.status, '_', ' ') || ' since' END), 4, 0
        FROM appstore.orders AS o
        LEFT JOIN charge AS c ON c.transaction_id = o.trade_no
        LEFT JOIN effect AS g ON g.kind = 'granted'
            AND g.effect_key = coalesce(o.origin_no || '/' || o.web_order_line_item_id, o.trade_no)
        WHERE o.environment = timeline.environment AND o.origin_no = timeline.original_transaction_id
        UNION ALL
        (SELECT DISTINCT ON (o.no) c.purchase_date, NULL::timestamptz, NULL::bigint, 'order_not_paid', c.transaction_id, c.product_id, o.no,
                o.user_id, 'the order is for ' || o.product_id || coalesce(' of ' || o.bundle_id, ''), 5, 0
         FROM charge AS c
         JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = c.first_token
         WHERE c.is_purchased AND o.reason IS NOT NULL
         ORDER BY o.no, c.purchase_date, length(c.transaction_id), c.transaction_id COLLATE "C")
        UNION ALL
        -- 5. Who said that it is whose.
        SELECT s.received_at, s.received_at, s.event_id, 'submitted', s.transaction_id, c.product_id, c.order_no, s.user_id,
               CASE WHEN owner.user_id IS NULL THEN 'owner_unknown'
                    WHEN owner.user_id <> s.user_id THEN 'owner_conflict: it is ' || owner.user_id || '''s'
                    WHEN claim.user_id IS NOT NULL THEN 'his from the purchase on: nobody else had claimed it'
                    ELSE 'his already' END, 2, 0
        FROM appstore.submissions AS s
        LEFT JOIN charge AS c ON c.transaction_id = s.transaction_id
        LEFT JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = c.order_no
        LEFT JOIN appstore.member_contracts AS m ON m.environment = timeline.environment AND m.contract_id = s.original_transaction_id
        LEFT JOIN appstore.claims AS claim
            ON claim.environment = timeline.environment AND claim.original_transaction_id = s.original_transaction_id
               AND claim.evidence = 'client:' || s.transaction_id AND claim.user_id = s.user_id
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
        WHERE s.environment = timeline.environment AND s.original_transaction_id = timeline.original_transaction_id
        UNION ALL
        SELECT s.received_at, s.received_at, s.event_id, 'receipt_submitted', nullif(s.transaction_id, ''), c.product_id, c.order_no, s.user_id,
               CASE WHEN owner.user_id IS NULL THEN 'owner_unknown'
                    WHEN claim.evidence LIKE 'receipt:%' THEN 'his from the purchase on: the first who named it as just made'
                    WHEN claim.evidence IS NOT NULL THEN 'his from then on: nobody had claimed it'
                    WHEN owner.user_id = s.user_id THEN 'his already'
                    ELSE 'owner_conflict: it ' || CASE WHEN m.user_id = s.user_id THEN 'was ' ELSE 'is ' END || owner.user_id || '''s' END,
               2, 0
        FROM appstore.receipt_submissions AS s
        LEFT JOIN charge AS c ON c.transaction_id = s.transaction_id
        LEFT JOIN appstore.orders AS o ON o.environment = timeline.environment AND o.no = c.order_no
        LEFT JOIN appstore.member_contracts AS m ON m.environment = timeline.environment AND m.contract_id = s.original_transaction_id
        LEFT JOIN appstore.claims AS claim
            ON claim.environment = timeline.environment AND claim.original_transaction_id = s.original_transaction_id
               AND claim.user_id = s.user_id
               AND (claim.evidence = 'receipt:' || s.transaction_id
                    OR (claim.evidence = 'restored:' || s.original_transaction_id AND claim.effective_at = s.received_at))
        LEFT JOIN LATERAL (
            SELECT k.user_id FROM appstore.claims AS k
            WHERE k.environment = timeline.environment AND k.original_transaction_id = s.original_transaction_id
              AND k.effective_at <= s.received_at
            ORDER BY k.effective_at DESC, k.evidence COLLATE "C" DESC LIMIT 1
        ) AS owned ON s.transaction_id = ''
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, owned.user_id, m.user_id) AS user_id) AS owner
        WHERE s.environment = timeline.environment AND s.original_transaction_id = timeline.original_transaction_id
        UNION ALL
        SELECT l.linked_at, l.linked_at, NULL, 'linked', NULL, NULL, NULL, l.user_id, 'by ' || l.actor || coalesce(': ' || l.note, ''), 6, 0
        FROM appstore.owner_links AS l
        WHERE l.environment = timeline.environment AND l.original_transaction_id = timeline.original_transaction_id
        UNION ALL
        SELECT k.effective_at, NULL, NULL, 'claimed', c.transaction_id, c.product_id, c.app_account_token, k.user_id,
               'the charge was given this token later', 6, 0
        FROM appstore.claims AS k
        LEFT JOIN charge AS c ON 'token:' || c.transaction_id = k.evidence
        WHERE k.environment = timeline.environment AND k.original_transaction_id = timeline.original_transaction_id
          AND k.evidence LIKE 'token:%'
        UNION ALL
        -- 6. What was answered to Apple.
        SELECT a.answered_at, a.answered_at, NULL, 'consumption_answered', a.transaction_id, c.product_id, c.order_no, NULL,
               'by ' || a.actor, 8, 0
        FROM charge AS c
        JOIN appstore.consumption_answers AS a ON a.environment = timeline.environment AND a.transaction_id = c.transaction_id
        UNION ALL
        -- 7. Events about it that nobody made use of.
        SELECT o.received_at, o.received_at, o.event_id, 'event_' || o.result, o.transaction_id, NULL, NULL, NULL,
               concat_ws(': ', o.notification_type || coalesce('/' || o.subtype, ''), o.reason), 9, 0
        FROM appstore.outcomes AS o
        WHERE o.environment = timeline.environment AND o.original_transaction_id = timeline.original_transaction_id
          AND o.result IN ('unhandled', 'rejected', 'failed', 'discarded')
        UNION ALL
        -- 8. Where it leads.
        SELECT DISTINCT t.until, NULL::timestamptz, NULL::bigint,
               CASE WHEN t.until > now() THEN 'access_will_end' ELSE 'access_ended' END, NULL, t.product_id, NULL::uuid, t.user_id,
               CASE WHEN t.until <= now() THEN t.why_ended WHEN t.will_renew THEN 'unless it renews' END, 10, 0
        FROM appstore.entitlement_terms AS t
        WHERE t.environment = timeline.environment AND t.original_transaction_id = timeline.original_transaction_id
          AND t.until < 'infinity'
    )
    SELECT t.occurred_at, t.learned_at, t.event_id, t.what, t.transaction_id, t.product_id, t.order_no, t.user_id, nullif(t.detail, '')
    FROM told AS t
    ORDER BY t.occurred_at, t.rank, t.learned_at, t.position, t.transaction_id, t.user_id
$$;

ALTER FUNCTION appstore.api_entitlements(text, text, text[]) SET enable_seqscan = off SET jit = off;
