-- The rules, and when they ask.

CREATE OR REPLACE FUNCTION appstore.is_stale(p_rule text, m appstore.contracts, p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        CASE p_rule
            WHEN 'expired_silent' THEN
                appstore.awaits_renewal(m.will_renew, m.status, m.revoked_at)
                AND m.current_period_end <= p_now - interval '1 hour' AND m.access_until <= p_now - interval '1 hour'
            WHEN 'in_retry' THEN m.status IN (3, 4) AND m.current_period_end > p_now - interval '1441 hours' -- 60 days, and the hour of the question
            WHEN 'no_renewal_info' THEN
                (m.renewal_signed_date IS NULL AND m.will_renew IS NULL
                 OR appstore.is_of_earlier_period(m.renewal_status, m.renewal_date, m.current_period_start))
                AND m.current_period_end IS NOT NULL
                AND coalesce(m.product_type, 'Auto-Renewable Subscription') = 'Auto-Renewable Subscription'
            WHEN 'price_consent' THEN
                m.price_increase_status = 0 AND m.will_renew AND m.current_period_end BETWEEN p_now AND p_now + interval '72 hours'
        END, false)
$$;
COMMENT ON FUNCTION appstore.is_stale IS 'Whether a rule holds for a contract. revoked_doubt is about a refund request, not about a contract.';

CREATE OR REPLACE FUNCTION appstore.is_refund_in_doubt(p_environment appstore.environment, p_transaction_id text, p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM appstore.consumption_obligations AS c
                   WHERE c.transaction_id = p_transaction_id AND c.environment = p_environment AND c.outcome IS NULL
                     AND c.asked_at <= p_now - interval '48 hours' OFFSET 0)
$$;
COMMENT ON FUNCTION appstore.is_refund_in_doubt IS 'Whether Apple asked about a refund of the charge 48 hours ago, and no decision came.';

CREATE OR REPLACE FUNCTION appstore.still_holds(w appstore.reconcile_watches, m appstore.contracts, p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE w.rule WHEN 'revoked_doubt' THEN appstore.is_refund_in_doubt(w.environment, w.transaction_id, p_now)
                       WHEN 'no_renewal_info' THEN appstore.is_stale(w.rule, m, p_now)
                       -- A period that began later is another watch.
                       ELSE coalesce(appstore.is_stale(w.rule, m, p_now) AND m.current_period_end = w.since, false) END
$$;
COMMENT ON FUNCTION appstore.still_holds IS 'Whether the rule of a watch holds for its contract now.';

CREATE OR REPLACE FUNCTION appstore.next_question(w appstore.reconcile_watches, p_grace_end timestamptz, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT min(due.at) FROM (
        SELECT w.since + gap.gap AS at
        FROM unnest('{1 hour,24 hours,72 hours,168 hours,720 hours}'::interval[]) AS gap (gap) WHERE w.rule = 'expired_silent'
        UNION ALL
        -- A day's question within 12 hours of the one after the grace period would postpone that one.
        SELECT w.since + day.n * interval '24 hours' FROM generate_series(1, 60) AS day (n)
        WHERE w.rule = 'in_retry' AND (w.since + day.n * interval '24 hours' NOT BETWEEN p_grace_end - interval '11 hours'
                                                                                      AND p_grace_end + interval '13 hours') IS NOT FALSE
        UNION ALL
        SELECT p_grace_end + interval '1 hour' WHERE w.rule = 'in_retry'
        UNION ALL
        SELECT p_now + interval '24 hours' WHERE w.rule IN ('no_renewal_info', 'revoked_doubt', 'price_consent') AND w.questions < 7) AS due
    WHERE due.at > p_now
$$;
COMMENT ON FUNCTION appstore.next_question IS
    'When the rule of a watch asks next, while it holds; null: never again. Rules without a schedule ask each day, seven times at most, and '
    'appstore.settle_questions ends the watch with the first answer.';

CREATE OR REPLACE FUNCTION appstore.heard_at(p_environment appstore.environment, p_contract text) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT max(heard.at) FROM (
        SELECT o.received_at AS at FROM appstore.outcomes AS o
        WHERE o.original_transaction_id = p_contract AND o.environment = p_environment::text
          AND o.source NOT IN ('subscription_status', 'transaction_info')
        UNION ALL
        SELECT o.received_at FROM appstore.event_contracts AS e
        CROSS JOIN LATERAL (SELECT o.received_at FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0) AS o
        WHERE e.original_transaction_id = p_contract AND e.environment = p_environment) AS heard
$$;
COMMENT ON FUNCTION appstore.heard_at IS
    'When the latest settled event about a contract arrived, other than answers to questions; null without one.';

CREATE OR REPLACE FUNCTION appstore.has_backlog(p_now timestamptz) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
    -- Those that run by themselves are few, and may wait for each other.
    SELECT EXISTS (SELECT FROM (SELECT q.is_isolated FROM appstore.inbox_queue AS q WHERE q.run_at < p_now - interval '1 minute'
                                ORDER BY q.run_at, q.event_id LIMIT 1000) AS first
                   WHERE NOT first.is_isolated)
$$;
COMMENT ON FUNCTION appstore.has_backlog IS
    'Whether events have waited for a minute: of the thousand that are due longest, one that runs with others. It may be about any contract.';

-- plpgsql: a worker's lease calls it for each call, and an SQL function with a SET clause is planned at each call.
CREATE OR REPLACE FUNCTION appstore.may_be_called(p_environment appstore.environment, p_call_key text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN coalesce(appstore.heard_at(p_environment, split_part(p_call_key, ':', 2)) <= statement_timestamp() - interval '15 minutes', true);
END
$$;
COMMENT ON FUNCTION appstore.may_be_called IS
    'Whether a call of the reconciliation may be made now: no event about its contract came in the last 15 minutes. An answer of a replica that '
    'lags would have a newer date than that event. While has_backlog, none may be made.';

CREATE OR REPLACE FUNCTION appstore.may_be_asked_at(p_rule text, p_environment appstore.environment, p_contract text, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    -- A lagging replica of Apple's could answer with a newer date than a notification that knows more.
    SELECT greatest(p_now, appstore.heard_at(p_environment, p_contract) + interval '15 minutes', m.renewal_signed_date + interval '15 minutes',
                    asked.at + CASE p_rule WHEN 'in_retry' THEN interval '12 hours' ELSE interval '24 hours' END)
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT m.renewal_signed_date, m.user_id, m.renewal_app_transaction_id FROM appstore.contracts AS m
        WHERE m.original_transaction_id = p_contract AND m.environment = p_environment OFFSET 0
    ) AS m ON true
    LEFT JOIN LATERAL (
        SELECT max(q.asked_at) AS at FROM (
            SELECT (SELECT max(q.asked_at) FROM appstore.reconcile_questions AS q
                    WHERE q.original_transaction_id = of.id AND q.environment = p_environment) AS asked_at
            FROM (SELECT p_contract AS id
                  UNION ALL
                  -- A user of the shop may have several Apple IDs, and a shop may have one user for many customers.
                  (SELECT n.original_transaction_id FROM appstore.contracts AS n
                   WHERE n.user_id = m.user_id AND n.environment = p_environment AND m.renewal_app_transaction_id IS NULL LIMIT 20)) AS of
            UNION ALL
            SELECT (SELECT max(q.asked_at) FROM appstore.reconcile_questions AS q
                    WHERE q.app_transaction_id = m.renewal_app_transaction_id AND q.environment = p_environment)) AS q
    ) AS asked ON true
$$;
COMMENT ON FUNCTION appstore.may_be_asked_at IS
    'From when on Apple may be asked about a contract: 15 minutes after the latest event about it, and a day after the latest question about its '
    'customer, by in_retry 12 hours. Contracts with one appTransactionId are of one customer; without one, up to 20 of one user.';
