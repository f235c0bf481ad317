CREATE OR REPLACE FUNCTION appstore.reconcile(
    p_bundle_ids text[], p_environments appstore.environment[], p_sample integer, p_now timestamptz DEFAULT clock_timestamp(),
    OUT asked integer, OUT settled integer, OUT has_more boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET enable_mergejoin = off SET enable_hashjoin = off SET jit = off AS $$
DECLARE
    v_bundle      text;
    v_environment appstore.environment;
    v_step        record;
    v_has_backlog boolean := appstore.has_backlog(p_now);
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('appstore.reconcile', 0)) THEN
        RETURN;
    END IF;
    settled := appstore.settle_questions(v_has_backlog, p_now);
    asked := 0;
    has_more := false;
    IF v_has_backlog THEN -- what waits may answer the questions
        RETURN;
    END IF;
    FOR v_bundle, v_environment IN SELECT DISTINCT l.b, l.e FROM unnest(p_bundle_ids, p_environments) AS l (b, e) LOOP
        has_more := appstore.watch_stale_contracts(v_bundle, v_environment, p_now) OR has_more;
        SELECT * INTO v_step FROM appstore.ask_about_stale_contracts(v_bundle, v_environment, p_now);
        has_more := has_more OR v_step.has_more;
        asked := asked + v_step.asked + appstore.ask_about_a_sample(v_bundle, v_environment, p_sample, p_now);
    END LOOP;
    -- Questions have their numbers in the order of time.
    DELETE FROM appstore.reconcile_questions AS q
    WHERE q.question_id = ANY (ARRAY(SELECT old.question_id FROM appstore.reconcile_questions AS old ORDER BY old.question_id LIMIT 500))
      AND q.asked_at < p_now - interval '90 days';
END
$$;
COMMENT ON FUNCTION appstore.reconcile IS
    'One step of the reconciliation of these apps: finds the results of answered questions, finds stale contracts, and asks about those that are due, '
    'and about a sample of so many contracts of each app a day. While events wait in the inbox, it only finds results. Returns how many questions '
    'it wrote and settled, and whether there may be more contracts to look at; nulls while another worker does it.';

CREATE OR REPLACE FUNCTION appstore.watch_stale_contracts(p_bundle_id text, p_environment appstore.environment, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET enable_mergejoin = off SET enable_hashjoin = off SET jit = off AS $$
DECLARE
    c_page     CONSTANT integer := 2000;
    v_walk     record;
    v_from     timestamptz;
    v_to       timestamptz;
    v_found    bigint;
    v_has_more boolean := false;
BEGIN
    -- 1. A new app: what has ended or was asked for in the last 60 days, and all purchases.
    INSERT INTO appstore.reconcile_walks (bundle_id, environment, walk, until)
    SELECT p_bundle_id, p_environment, walk.name, walk.until
    FROM (VALUES ('before 3 days', p_now), ('before 2 days', p_now + interval '48 hours'), ('before 1 day', p_now + interval '24 hours'),
                 ('after 1 hour', p_now - interval '1440 hours'), ('after 1 day', p_now - interval '24 hours'),
                 ('after 3 days', p_now - interval '72 hours'), ('after 7 days', p_now - interval '168 hours'),
                 ('after 30 days', p_now - interval '720 hours'), ('purchases', '-infinity'), ('refunds', p_now - interval '1440 hours'),
                 ('late refunds', p_now - interval '156 hours'), ('sample', p_now)
         ) AS walk (name, until)
    ON CONFLICT (bundle_id, environment, walk) DO NOTHING;

    -- 2. Ends of periods: each of them is looked at whenever a rule could begin to hold. So a fact that came late is seen by the next walk.
    FOR v_walk IN
        SELECT w.walk, w.until, walk.gap FROM appstore.reconcile_walks AS w
        CROSS JOIN LATERAL (SELECT CASE w.walk WHEN 'before 3 days' THEN interval '-72 hours' WHEN 'before 2 days' THEN interval '-48 hours'
                                               WHEN 'before 1 day' THEN interval '-24 hours' WHEN 'after 1 hour' THEN interval '1 hour'
                                               WHEN 'after 1 day' THEN interval '24 hours' WHEN 'after 3 days' THEN interval '72 hours'
                                               WHEN 'after 7 days' THEN interval '168 hours' WHEN 'after 30 days' THEN interval '720 hours' END) AS walk (gap)
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND walk.gap IS NOT NULL
    LOOP
        v_from := v_walk.until;
        WITH ended AS MATERIALIZED (
            SELECT t.environment, t.bundle_id, t.original_transaction_id, t.transaction_id, t.expires_date FROM appstore.transactions AS t
            WHERE t.expires_date IS NOT NULL AND (t.expires_date AT TIME ZONE 'UTC') > (v_from AT TIME ZONE 'UTC')
              AND (t.expires_date AT TIME ZONE 'UTC') <= ((p_now - v_walk.gap) AT TIME ZONE 'UTC')
            ORDER BY (t.expires_date AT TIME ZONE 'UTC') FETCH FIRST c_page ROWS WITH TIES
        ), stale AS (
            SELECT e.original_transaction_id, rule.name, (m.contract).current_period_end
            FROM ended AS e
            CROSS JOIN LATERAL (
                SELECT m AS contract FROM appstore.contracts AS m
                WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = e.environment
                  AND m.current_transaction_id = e.transaction_id AND m.bundle_id = p_bundle_id OFFSET 0
            ) AS m
            CROSS JOIN unnest('{expired_silent,in_retry,price_consent}'::text[]) AS rule (name)
            WHERE e.environment = p_environment AND e.bundle_id = p_bundle_id AND appstore.is_stale(rule.name, m.contract, p_now)
        ), watched AS (
            INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, since, next_at)
            SELECT p_environment, s.original_transaction_id, s.name, p_bundle_id, s.current_period_end,
                   -- in_retry: the day that has begun last, so that it is asked once a day.
                   CASE s.name WHEN 'in_retry' THEN
                       s.current_period_end + greatest(1, floor(extract(epoch FROM p_now - s.current_period_end) / 86400)) * interval '24 hours'
                   ELSE p_now END
            FROM stale AS s
            -- A period that began later, whose predecessor's watch has not yet come to its end.
            ON CONFLICT (original_transaction_id, environment, rule) DO UPDATE
            SET since = excluded.since, next_at = excluded.next_at, questions = 0 WHERE reconcile_watches.since <> excluded.since
        )
        SELECT count(*), max(e.expires_date) INTO v_found, v_to FROM ended AS e;
        v_has_more := v_has_more OR v_found >= c_page;
        UPDATE appstore.reconcile_walks AS w SET until = CASE WHEN v_found >= c_page THEN v_to ELSE greatest(v_from, p_now - v_walk.gap) END
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = v_walk.walk;
    END LOOP;

    -- 3. Purchases without their renewal, 15 minutes after they were settled. One that was asked about is not asked about again for 30 days.
    SELECT w.until INTO v_from FROM appstore.reconcile_walks AS w
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'purchases';
    WITH settled AS MATERIALIZED (
        SELECT o.event_id, o.settled_at, o.original_transaction_id FROM appstore.outcomes AS o
        WHERE o.source IN ('client_transaction', 'client_receipt', 'unanswered_receipt', 'transaction_info', 'imported_transaction')
          AND o.settled_at > v_from AND o.settled_at <= p_now - interval '15 minutes'
        ORDER BY o.settled_at FETCH FIRST c_page ROWS WITH TIES
    ), bought AS (
        SELECT s.settled_at, s.original_transaction_id AS contract FROM settled AS s WHERE s.original_transaction_id IS NOT NULL
        UNION ALL
        SELECT s.settled_at, c.original_transaction_id FROM settled AS s
        CROSS JOIN LATERAL (
            SELECT c.original_transaction_id FROM appstore.event_contracts AS c WHERE c.event_id = s.event_id AND c.environment = p_environment OFFSET 0
        ) AS c
    ), watched AS (
        INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, since, next_at)
        SELECT p_environment, b.contract, 'no_renewal_info', p_bundle_id, b.settled_at, p_now
        FROM bought AS b
        CROSS JOIN LATERAL (
            SELECT m AS contract FROM appstore.contracts AS m
            WHERE m.original_transaction_id = b.contract AND m.environment = p_environment AND m.bundle_id = p_bundle_id OFFSET 0
        ) AS m
        WHERE appstore.is_stale('no_renewal_info', m.contract, p_now)
          AND NOT EXISTS (SELECT FROM appstore.reconcile_questions AS q
                          WHERE q.original_transaction_id = b.contract AND q.environment = p_environment
                            AND q.asked_at > p_now - interval '720 hours' OFFSET 0)
        ON CONFLICT (original_transaction_id, environment, rule) DO NOTHING
    )
    SELECT count(*), max(s.settled_at) INTO v_found, v_to FROM settled AS s;
    v_has_more := v_has_more OR v_found >= c_page;
    UPDATE appstore.reconcile_walks AS w SET until = CASE WHEN v_found >= c_page THEN v_to ELSE greatest(v_from, p_now - interval '15 minutes') END
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'purchases';

    -- 4. Refund requests. Apple wants an answer within 12 hours, so those that were asked 48 hours ago were due 36 hours ago. A second walk, a
    --    week after they were asked, finds those that came late.
    FOR v_walk IN
        SELECT w.walk, w.until, CASE w.walk WHEN 'refunds' THEN interval '36 hours' ELSE interval '156 hours' END AS gap
        FROM appstore.reconcile_walks AS w
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk IN ('refunds', 'late refunds')
    LOOP
        v_from := v_walk.until;
        WITH asked AS MATERIALIZED (
            SELECT c.environment, c.transaction_id, c.original_transaction_id, c.asked_at, c.due_at FROM appstore.consumption_obligations AS c
            WHERE c.due_at > v_from AND c.due_at <= p_now - v_walk.gap
            ORDER BY c.due_at FETCH FIRST c_page ROWS WITH TIES
        ), watched AS (
            INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, transaction_id, since, next_at)
            SELECT DISTINCT ON (a.original_transaction_id)
                   p_environment, a.original_transaction_id, 'revoked_doubt', p_bundle_id, a.transaction_id, a.asked_at, p_now
            FROM asked AS a
            WHERE a.environment = p_environment
              AND EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.transaction_id = a.transaction_id AND t.environment = p_environment AND t.bundle_id = p_bundle_id OFFSET 0)
              AND appstore.is_refund_in_doubt(p_environment, a.transaction_id, p_now)
            ORDER BY a.original_transaction_id, a.asked_at DESC, a.transaction_id
            -- Another charge of the contract: the customer's history tells of both.
            ON CONFLICT (original_transaction_id, environment, rule) DO UPDATE
            SET transaction_id = excluded.transaction_id, since = excluded.since, next_at = excluded.next_at, questions = 0
            WHERE reconcile_watches.since <> excluded.since
        )
        SELECT count(*), max(a.due_at) INTO v_found, v_to FROM asked AS a;
        v_has_more := v_has_more OR v_found >= c_page;
        UPDATE appstore.reconcile_walks AS w SET until = CASE WHEN v_found >= c_page THEN v_to ELSE greatest(v_from, p_now - v_walk.gap) END
        WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = v_walk.walk;
    END LOOP;
    RETURN v_has_more;
END
$$;
COMMENT ON FUNCTION appstore.watch_stale_contracts IS
    'Writes a watch for each contract of an app for which a rule has begun to hold since the latest call. It looks at some 2,000 ends of periods, '
    'purchases and refund requests of each kind. Returns whether there may be more.';
