-- What people and the shop look at: who may use what, what happened to a contract, what nobody's account shows, and what Apple asks.
--
-- Views run with their owner's rights: a role sees what the view shows and needs no right to the tables behind it. Functions run with
-- their caller's, except where they say SECURITY DEFINER.

ALTER TABLE appstore.products ADD CONSTRAINT products_days_within_a_century CHECK (days <= 36500);

-- What is paid and nobody's: few, and found without reading all orders.
CREATE INDEX orders_without_user ON appstore.orders (environment, origin_no)
    WHERE user_id IS NULL AND status IN ('paid', 'partly_refunded');
-- Orders that somebody tried to pay and could not.
CREATE INDEX orders_not_paid ON appstore.orders (environment, no) WHERE reason IS NOT NULL;

-- What each contract gives and until when: no function of the clock, which entitlements_at adds. A product may give several entitlements.
-- Consumables give none. A contract that is known by its renewal alone, without any charge, gives nothing yet.
--
-- why_ended is one of: expired (the paid time is over); billing_retry (it is over, Apple still tries to charge for more); refunded;
-- revoked (family sharing ended); upgraded (another product of the group replaced it); duration_unknown (of a non-renewing product that
-- appstore.products does not list); purchase_unknown (no charge of this contract has been seen).
CREATE VIEW appstore.entitlement_terms AS
SELECT m.environment::text AS environment, m.user_id, m.product_id, coalesce(p.entitlement, m.product_id) AS entitlement,
       term.until,
       -- Where Apple asks to go on although the charge failed.
       CASE WHEN m.status = 4 THEN m.current_period_end END AS grace_from,
       CASE
           WHEN c.transaction_id IS NULL THEN 'purchase_unknown'
           WHEN term.until IS NULL THEN 'duration_unknown'
           WHEN (m.revoked_at IS NOT NULL AND (m.current_period_end IS NULL OR term.until < m.current_period_end))
                OR (m.status = 5 AND s.signed_date >= c.first_signed_date)
               THEN CASE WHEN c.is_upgraded THEN 'upgraded' WHEN c.is_purchased THEN 'refunded' ELSE 'revoked' END
           WHEN m.status IN (3, 4) AND s.signed_date >= c.first_signed_date THEN 'billing_retry'
           ELSE 'expired'
       END AS why_ended,
       CASE WHEN c.is_subscription IS NOT FALSE THEN m.will_renew ELSE false END AS will_renew,
       m.contract_id AS original_transaction_id, m.bundle_id
FROM appstore.member_contracts AS m
LEFT JOIN appstore.transactions AS c ON c.environment = m.environment AND c.transaction_id = m.current_transaction_id
LEFT JOIN appstore.subscriptions AS s ON s.environment = m.environment AND s.original_transaction_id = m.contract_id
LEFT JOIN appstore.products AS p ON p.product_id = m.product_id
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN m.access_until IS NOT NULL OR c.product_type IS DISTINCT FROM 'Non-Renewing Subscription' THEN m.access_until
        -- A listed product without days lasts for ever. A day has 24 hours, whatever the session's time zone.
        WHEN p.product_id IS NOT NULL THEN coalesce(m.current_period_start + p.days * interval '24 hours', 'infinity')
    END AS until
) AS term
WHERE m.product_id IS NOT NULL AND (c.confers_access OR c.transaction_id IS NULL);

-- Who may use what at an instant, by what is known now. why is 'active', 'grace_period', or how it ended (see entitlement_terms).
-- will_renew is null while Apple has said nothing of it. Plain SQL that PostgreSQL writes into the query around it, so that conditions on
-- environment and user_id reach the index.
CREATE FUNCTION appstore.entitlements_at(at timestamptz)
RETURNS TABLE (environment text, user_id text, product_id text, entitlement text, active boolean, until timestamptz, why text,
               in_grace boolean, will_renew boolean, original_transaction_id text, bundle_id text)
LANGUAGE sql STABLE AS $$
    SELECT e.environment, e.user_id, e.product_id, e.entitlement,
           coalesce(at < e.until, false),
           e.until,
           CASE WHEN at < e.until THEN CASE WHEN at >= e.grace_from THEN 'grace_period' ELSE 'active' END ELSE e.why_ended END,
           coalesce(at >= e.grace_from AND at < e.until, false),
           e.will_renew, e.original_transaction_id, e.bundle_id
    FROM appstore.entitlement_terms AS e
    WHERE e.user_id IS NOT NULL
$$;

CREATE VIEW appstore.entitlements AS SELECT * FROM appstore.entitlements_at(now());

-- What happened to a contract, as a person tells it: when it happened, when we learned of it, by which event, and a few words more.
--
-- what is an effect (granted, refunded, revoked, will_renew, will_not_renew, plan_changed, …) or one of: order_made, order_paid,
-- order_not_paid (a charge names it and is for something else); submitted (a client posted the charge as this user's), linked (somebody
-- said whose it is), claimed (a later token did); consumption_answered; event_unhandled, event_rejected, event_failed, event_discarded;
-- access_ended or access_will_end, by what is known now. learned_at is null where nothing says it.
DROP FUNCTION appstore.timeline(text, text);
CREATE FUNCTION appstore.timeline(environment text, original_transaction_id text)
RETURNS TABLE (occurred_at timestamptz, learned_at timestamptz, event_id bigint, what text, transaction_id text, product_id text,
               order_no uuid, user_id text, detail text)
LANGUAGE sql STABLE AS $$
    WITH effect AS MATERIALIZED (
        -- 1. Effects, and the event that brought each: an event that was requeued has its outcome in the history for a moment.
        SELECT e.*, coalesce(o.received_at, h.received_at, e.recorded_at) AS learned_at,
               coalesce(o.notification_type, h.notification_type) || coalesce('/' || coalesce(o.subtype, h.subtype), '') AS said
        FROM appstore.effects AS e
        LEFT JOIN appstore.outcomes AS o ON o.event_id = e.event_id
        LEFT JOIN LATERAL (
            SELECT h.received_at, h.notification_type, h.subtype
            FROM appstore.outcome_history AS h WHERE h.event_id = e.event_id ORDER BY h.run DESC LIMIT 1
        ) AS h ON true
        WHERE e.environment = timeline.environment AND e.original_transaction_id = timeline.original_transaction_id
    ), charge AS MATERIALIZED (
        -- 2. Its charges, and what each cost.
        SELECT t.*, trim_scale(t.price / 1000.0) || coalesce(' ' || t.currency, '') AS cost
        FROM appstore.transactions AS t
        WHERE t.environment = timeline.environment AND t.original_transaction_id = timeline.original_transaction_id
    ), told AS (
        SELECT e.occurred_at, e.learned_at, e.event_id, e.kind AS what, e.transaction_id, e.product_id, e.order_no, e.user_id,
               CASE
                   WHEN e.kind = 'granted' THEN concat_ws(', ',
                       'until ' || to_char(c.expires_date AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'), c.cost,
                       CASE WHEN c.quantity > 1 THEN c.quantity || ' pieces' END, CASE WHEN NOT c.is_purchased THEN 'by family sharing' END)
                   WHEN e.kind IN ('refunded', 'revoked') THEN
                       -- Only while the register still says so: a reversal takes it back.
                       CASE WHEN c.revocation_date = e.occurred_at THEN concat_ws(', ',
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
            ON claim.environment = timeline.environment AND claim.evidence = 'client:' || s.transaction_id AND claim.user_id = s.user_id
        CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
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

-- What Apple was paid for and nobody's account shows, and purchases that two people call their own: one row for each, with what resolves
-- it. It disappears when that has been done, or when Apple has paid all of it back. reason is one of:
--
--   order_unknown      the charge's token is no order of the shop's
--   product_mismatch   the charge names an order for another product, and does not pay it
--   bundle_mismatch    the same, for another app
--   order_paid_before  the charge names an order that an earlier charge paid
--   no_user            the charge names no order, and nobody posted it
--   too_late           somebody posted it, more than 72 hours after the purchase
--   owner_conflict     somebody posted it who is not its owner
--
-- Renewals are listed with the first of their contract's periods; periods counts them. What is shared by the family was paid by somebody
-- else: it is listed only when somebody posted it and was refused. user_id is whose it may be.
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
), refused AS (
    -- 3. Posts of charges that are somebody else's, or a family member's and came too late, once for each contract and poster. A link
    --    made after the post has settled it, whoever it names.
    SELECT DISTINCT ON (s.environment, s.original_transaction_id, s.user_id)
           s.environment, t.order_no, s.user_id, s.transaction_id, s.original_transaction_id, t.product_id, t.purchase_date,
           owner.user_id AS owner
    FROM appstore.submissions AS s
    JOIN appstore.transactions AS t ON t.environment = s.environment AND t.transaction_id = s.transaction_id
    LEFT JOIN appstore.orders AS o ON o.environment = t.environment AND o.no = t.order_no
    LEFT JOIN appstore.member_contracts AS m ON m.environment = s.environment AND m.contract_id = s.original_transaction_id
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE (owner.user_id <> s.user_id OR (owner.user_id IS NULL AND NOT t.is_purchased))
      AND NOT EXISTS (SELECT FROM appstore.owner_links AS l
                      WHERE l.environment = s.environment AND l.original_transaction_id = s.original_transaction_id
                        AND l.linked_at >= s.received_at)
      AND NOT EXISTS (SELECT FROM appstore.orders AS u
                      WHERE u.environment = s.environment AND u.origin_no = s.original_transaction_id AND u.user_id IS NULL
                        AND u.status IN ('paid', 'partly_refunded'))
    ORDER BY s.environment, s.original_transaction_id, s.user_id, s.received_at, s.event_id
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

-- What Apple asks about purchases whose refund it considers, until it has decided. It asks repeatedly and wants one answer, within twelve
-- hours: asked_at is the first ask since the last decision, due_at its deadline, open says that nobody has answered since.
CREATE VIEW appstore.consumption_requests AS
WITH said AS (
    SELECT r.*, max(r.signed_date) FILTER (WHERE r.kind <> 'asked') OVER (PARTITION BY r.environment, r.transaction_id) AS decided_at
    FROM appstore.refund_statements AS r
), asked AS (
    SELECT DISTINCT ON (s.environment, s.transaction_id) s.environment, s.transaction_id, s.original_transaction_id, s.signed_date, s.reason
    FROM said AS s
    WHERE s.kind = 'asked' AND (s.decided_at IS NULL OR s.signed_date > s.decided_at)
    ORDER BY s.environment, s.transaction_id, s.signed_date, s.notification_uuid COLLATE "C"
)
SELECT a.environment::text AS environment, a.transaction_id, answer.answered_at IS NULL AS open, a.signed_date AS asked_at,
       a.signed_date + interval '12 hours' AS due_at, answer.answered_at, a.reason, a.original_transaction_id, t.product_id,
       coalesce(o.user_id, m.user_id) AS user_id, t.order_no
FROM asked AS a
LEFT JOIN LATERAL (
    SELECT min(c.answered_at) AS answered_at FROM appstore.consumption_answers AS c
    WHERE c.environment = a.environment AND c.transaction_id = a.transaction_id AND c.answered_at >= a.signed_date
) AS answer ON true
LEFT JOIN appstore.transactions AS t ON t.environment = a.environment AND t.transaction_id = a.transaction_id
LEFT JOIN appstore.orders AS o ON o.environment = t.environment AND o.no = t.order_no
LEFT JOIN appstore.member_contracts AS m ON m.environment = a.environment AND m.contract_id = a.original_transaction_id;

-- Says that Apple has now been told how a purchase was consumed. Saying it twice changes nothing.
CREATE FUNCTION appstore.consumption_answered(environment text, transaction_id text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT EXISTS (SELECT FROM appstore.refund_statements AS r
                      WHERE r.environment = consumption_answered.environment AND r.transaction_id = consumption_answered.transaction_id
                        AND r.kind = 'asked') THEN
        RAISE EXCEPTION 'Apple has not asked about transaction % in %', quote_nullable(transaction_id), environment
            USING ERRCODE = 'no_data_found';
    END IF;
    INSERT INTO appstore.consumption_answers (environment, transaction_id, answered_at, actor)
    VALUES (consumption_answered.environment, consumption_answered.transaction_id, v_now, session_user);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
    VALUES (v_now, session_user, 'consumption_answered', '{}',
            jsonb_build_object('environment', consumption_answered.environment, 'transaction_id', consumption_answered.transaction_id));
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT SELECT ON appstore.entitlement_terms, appstore.entitlements, appstore.consumption_requests
    TO appstore_operator, appstore_viewer, appstore_backend;
-- Whoever uses a view needs the right to the functions in it.
GRANT EXECUTE ON FUNCTION appstore.entitlements_at(timestamptz) TO appstore_operator, appstore_viewer, appstore_backend;
GRANT EXECUTE ON FUNCTION appstore.consumption_answered(text, text) TO appstore_operator, appstore_backend;
GRANT EXECUTE ON FUNCTION appstore.timeline(text, text) TO appstore_operator, appstore_viewer;
