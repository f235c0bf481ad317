-- The rules, and when they ask.

CREATE FUNCTION appstore.is_stale(p_rule text, m appstore.contracts, p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        CASE p_rule
            WHEN 'expired_silent' THEN
                m.will_renew AND coalesce(m.status, 1) NOT IN (2, 3, 4, 5) AND m.revoked_at IS NULL
                AND m.current_period_end <= p_now - interval '1 hour' AND m.access_until <= p_now - interval '1 hour'
            WHEN 'in_retry' THEN m.status IN (3, 4) AND m.current_period_end > p_now - interval '1441 hours' -- 60 days, and the hour of the question
            WHEN 'no_renewal_info' THEN
                m.renewal_signed_date IS NULL AND m.will_renew IS NULL AND m.current_period_end IS NOT NULL
                AND coalesce(m.product_type, 'Auto-Renewable Subscription') = 'Auto-Renewable Subscription'
            WHEN 'price_consent' THEN
                m.price_increase_status = 0 AND m.will_renew AND m.current_period_end BETWEEN p_now AND p_now + interval '72 hours'
        END, false)
$$;
COMMENT ON FUNCTION appstore.is_stale IS 'Whether a rule holds for a contract. revoked_doubt is about a refund request, not about a contract.';

CREATE FUNCTION appstore.is_refund_in_doubt(p_environment appstore.environment, p_transaction_id text, p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM appstore.consumption_obligations AS c
                   WHERE c.transaction_id = p_transaction_id AND c.environment = p_environment AND c.outcome IS NULL
                     AND c.asked_at <= p_now - interval '48 hours' OFFSET 0)
$$;
COMMENT ON FUNCTION appstore.is_refund_in_doubt IS 'Whether Apple asked about a refund of the charge 48 hours ago, and no decision came.';

CREATE FUNCTION appstore.still_holds(w appstore.reconcile_watches, m appstore.contracts, p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE w.rule WHEN 'revoked_doubt' THEN appstore.is_refund_in_doubt(w.environment, w.transaction_id, p_now)
                       WHEN 'no_renewal_info' THEN appstore.is_stale(w.rule, m, p_now)
                       -- A period that began later is another watch.
                       ELSE coalesce(appstore.is_stale(w.rule, m, p_now) AND m.current_period_end = w.since, false) END
$$;
COMMENT ON FUNCTION appstore.still_holds IS 'Whether the rule of a watch holds for its contract now.';

CREATE FUNCTION appstore.next_question(p_rule text, p_since timestamptz, p_grace_end timestamptz, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT min(due.at) FROM (
        SELECT p_since + gap.gap AS at
        FROM unnest('{1 hour,24 hours,72 hours,168 hours,720 hours}'::interval[]) AS gap (gap) WHERE p_rule = 'expired_silent'
        UNION ALL
        SELECT p_since + day.n * interval '24 hours' FROM generate_series(1, 60) AS day (n) WHERE p_rule = 'in_retry'
        UNION ALL
        SELECT p_grace_end + interval '1 hour' WHERE p_rule = 'in_retry') AS due
    WHERE due.at > p_now
$$;
COMMENT ON FUNCTION appstore.next_question IS 'When a rule asks next, while it holds since then; null: never again.';

CREATE FUNCTION appstore.may_be_asked_at(p_rule text, p_environment appstore.environment, p_contract text, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    -- A lagging replica of Apple's could answer with a newer date than a notification that knows more.
    SELECT greatest(p_now, word.at + interval '15 minutes', m.renewal_signed_date + interval '15 minutes',
                    asked.at + CASE p_rule WHEN 'in_retry' THEN interval '12 hours' ELSE interval '24 hours' END)
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT m.renewal_signed_date, m.user_id, m.renewal_app_transaction_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = p_contract AND m.environment = p_environment OFFSET 0
    ) AS m ON true
    LEFT JOIN LATERAL (
        SELECT max(o.received_at) AS at FROM appstore.outcomes AS o
        WHERE o.original_transaction_id = p_contract AND o.environment = p_environment::text
    ) AS word ON true
    LEFT JOIN LATERAL (
        SELECT max(q.asked_at) AS at FROM (
            SELECT (SELECT max(q.asked_at) FROM appstore.reconcile_questions AS q
                    WHERE q.original_transaction_id = of.id AND q.environment = p_environment) AS asked_at
            FROM (SELECT p_contract AS id
                  UNION ALL
                  SELECT n.original_transaction_id FROM appstore.contracts AS n
                  WHERE n.user_id = m.user_id AND n.environment = p_environment) AS of
            UNION ALL
            SELECT (SELECT max(q.asked_at) FROM appstore.reconcile_questions AS q
                    WHERE q.app_transaction_id = m.renewal_app_transaction_id AND q.environment = p_environment)) AS q
    ) AS asked ON true
$$;
COMMENT ON FUNCTION appstore.may_be_asked_at IS
    'From when on Apple may be asked about a contract: 15 minutes after the latest word about it, and a day after the latest question about its '
    'customer, by in_retry 12 hours. Contracts of one user, or with one appTransactionId, are of one customer.';
