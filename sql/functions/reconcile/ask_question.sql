CREATE OR REPLACE FUNCTION appstore.ask_question(
    p_rule text, p_bundle_id text, p_environment appstore.environment, p_contract text, p_transaction_id text, p_priority smallint, p_now timestamptz)
RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_kind text := CASE p_rule WHEN 'revoked_doubt' THEN 'transaction_history' ELSE 'subscription_statuses' END;
    v_key  text := lower(p_environment::text) || ':' || p_contract;
    v_call bigint;
BEGIN
    FOR attempt IN 1..2 LOOP -- the second where an open call was settled between the two statements
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, environment, priority, payload, asked_at, run_at, deadline_at)
        VALUES (v_kind, v_key, p_bundle_id, p_environment, p_priority,
                convert_to(jsonb_build_object('path', jsonb_build_array(p_contract))::text, 'UTF8'), p_now, p_now, p_now + interval '24 hours')
        ON CONFLICT DO NOTHING RETURNING call_id INTO v_call;
        IF v_call IS NULL THEN -- the same is asked for another reason
            UPDATE appstore.outbox AS c SET priority = least(c.priority, p_priority)
            WHERE c.call_key = v_key AND c.kind = v_kind AND c.state = 'open' AND c.bundle_id = p_bundle_id RETURNING c.call_id INTO v_call;
        END IF;
        EXIT WHEN v_call IS NOT NULL;
    END LOOP;
    IF v_call IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO appstore.reconcile_questions (environment, original_transaction_id, bundle_id, rule, transaction_id, app_transaction_id, asked_at,
                                              call_id, status, will_renew, current_period_end, revoked_at, access_until)
    SELECT p_environment, p_contract, p_bundle_id, p_rule, p_transaction_id, s.app_transaction_id, p_now, v_call, s.status, s.will_renew,
           s.current_period_end, s.revoked_at, s.access_until
    FROM appstore.ledger_about(p_environment, p_contract, p_transaction_id) AS s;
    INSERT INTO appstore.reconcile_counts (day, rule, questions) VALUES ((p_now AT TIME ZONE 'UTC')::date, p_rule, 1)
    ON CONFLICT (day, rule) DO UPDATE SET questions = reconcile_counts.questions + 1;
    RETURN v_call;
END
$$;
COMMENT ON FUNCTION appstore.ask_question IS
    'Writes a call that asks Apple about a contract, and the question with what the ledger says. Where the same is asked already, it uses that '
    'call. Returns the call, or null where another app asks about the same id.';

CREATE OR REPLACE FUNCTION appstore.ledger_about(
    p_environment appstore.environment, p_contract text, p_transaction_id text,
    OUT status integer, OUT will_renew boolean, OUT current_period_end timestamptz, OUT revoked_at timestamptz, OUT access_until timestamptz,
    OUT app_transaction_id text)
LANGUAGE sql STABLE AS $$
    SELECT m.status, m.will_renew, m.current_period_end, CASE WHEN p_transaction_id IS NULL THEN m.revoked_at ELSE t.revocation_date END,
           m.access_until, m.renewal_app_transaction_id
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT m.* FROM appstore.contracts AS m
        WHERE m.original_transaction_id = p_contract AND m.environment = p_environment OFFSET 0
    ) AS m ON true
    LEFT JOIN LATERAL (
        SELECT t.revocation_date FROM appstore.transactions AS t
        WHERE t.transaction_id = p_transaction_id AND t.environment = p_environment OFFSET 0
    ) AS t ON true
$$;
COMMENT ON FUNCTION appstore.ledger_about IS
    'What the ledger says of a contract, and of a charge where one is given. Without a contract in the ledger all is null.';

CREATE OR REPLACE FUNCTION appstore.ask_about_stale_contracts(
    p_bundle_id text, p_environment appstore.environment, p_now timestamptz, OUT asked integer, OUT has_more boolean)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    c_most     CONSTANT integer := 200;
    c_open     CONSTANT integer := 2000;
    v_open     integer;
    v_room     integer;
    v_watch    appstore.reconcile_watches;
    v_contract appstore.contracts;
    v_next     timestamptz;
BEGIN
    -- 1. Calls are made as fast as Apple's limit allows. While many wait, more of them would only be asked too late.
    SELECT count(*) INTO v_open FROM (
        SELECT FROM unnest('{subscription_statuses,transaction_history}'::text[]) AS asked (kind)
        CROSS JOIN LATERAL (
            SELECT FROM appstore.outbox AS c
            WHERE c.state = 'open' AND c.bundle_id = p_bundle_id AND c.environment = p_environment AND c.kind = asked.kind AND c.priority = 2
            ORDER BY c.run_at LIMIT c_open + c_most -- by the index of this order, however many calls of other apps are open
        ) AS c) AS open;
    asked := 0;
    has_more := false;
    -- 2. no_renewal_info and in_retry, which ask most, come after the others, and leave them room. Watches that are postponed take no other's
    --    place.
    FOR v_watch IN
        SELECT due.* FROM unnest('{0,1,2}'::integer[]) AS class (place)
        CROSS JOIN LATERAL (
            SELECT w.* FROM appstore.reconcile_watches AS w
            WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.next_at <= p_now
              AND CASE w.rule WHEN 'no_renewal_info' THEN 1 WHEN 'in_retry' THEN 2 ELSE 0 END = class.place
            ORDER BY w.next_at LIMIT 1000 FOR UPDATE
        ) AS due
    LOOP
        v_room := least(c_most, c_open - v_open + CASE WHEN v_watch.rule IN ('no_renewal_info', 'in_retry') THEN 0 ELSE c_most END);
        IF asked >= v_room THEN
            has_more := asked >= c_most;
            EXIT;
        END IF;
        SELECT m.* INTO v_contract FROM appstore.contracts AS m
        WHERE m.original_transaction_id = v_watch.original_transaction_id AND m.environment = p_environment;
        IF appstore.still_holds(v_watch, v_contract, p_now) THEN
            v_next := appstore.may_be_asked_at(v_watch.rule, p_environment, v_watch.original_transaction_id, p_now);
            IF v_next <= p_now AND appstore.ask_question(v_watch.rule, p_bundle_id, p_environment, v_watch.original_transaction_id,
                                                         v_watch.transaction_id, 2::smallint, p_now) IS NULL THEN
                v_next := p_now + interval '1 hour';
            ELSIF v_next <= p_now THEN
                asked := asked + 1;
                v_watch.questions := v_watch.questions + 1;
                v_next := appstore.next_question(v_watch, v_contract.grace_period_expires_date, p_now);
            END IF;
        ELSE
            v_next := NULL;
        END IF;
        IF v_next IS NULL THEN
            DELETE FROM appstore.reconcile_watches AS w
            WHERE w.original_transaction_id = v_watch.original_transaction_id AND w.environment = p_environment AND w.rule = v_watch.rule;
        ELSE
            UPDATE appstore.reconcile_watches AS w SET next_at = v_next, questions = v_watch.questions
            WHERE w.original_transaction_id = v_watch.original_transaction_id AND w.environment = p_environment AND w.rule = v_watch.rule;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.ask_about_stale_contracts IS
    'Asks about the contracts of an app whose watch is due, those of no_renewal_info and in billing retry last: at most 200, and none of these '
    'while 2,000 calls of the app are open. Postpones those that may not be asked about yet, and ends the watches of those that are stale no more or were asked about for the last '
    'time. Returns how many questions it wrote, and whether there may be more to write.';

CREATE OR REPLACE FUNCTION appstore.ask_about_a_sample(p_bundle_id text, p_environment appstore.environment, p_sample integer, p_now timestamptz) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_blocks bigint := pg_relation_size('appstore.contracts') / current_setting('block_size')::bigint;
    v_until  timestamptz;
    v_wanted integer;
    v_asked  integer := 0;
    v_id     text;
BEGIN
    -- 1. Spread over the day, so that each hour is measured.
    SELECT greatest(w.until, p_now - interval '24 hours') INTO v_until FROM appstore.reconcile_walks AS w
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'sample';
    v_wanted := least(floor(p_sample * extract(epoch FROM p_now - v_until) / 86400), 10);
    IF v_wanted <= 0 OR v_blocks = 0 THEN
        RETURN 0;
    END IF;
    -- 2. Random places in the table: each row is as likely as any other, and no more than these places are read.
    FOR v_id IN
        SELECT m.original_transaction_id
        FROM (SELECT DISTINCT format('(%s,%s)', floor(random() * v_blocks)::bigint, 1 + floor(random() * 64)::integer)::tid AS place
              FROM generate_series(1, 200 * v_wanted)) AS random
        CROSS JOIN LATERAL (SELECT m.* FROM appstore.contracts AS m WHERE m.ctid = random.place OFFSET 0) AS m
        WHERE m.environment = p_environment AND m.bundle_id = p_bundle_id AND m.will_renew IS NOT NULL
          AND appstore.is_active(p_now, m.access_until) AND m.access_until < 'infinity'
        ORDER BY random()
    LOOP
        EXIT WHEN v_asked >= v_wanted;
        CONTINUE WHEN appstore.may_be_asked_at('sample', p_environment, v_id, p_now) > p_now;
        IF appstore.ask_question('sample', p_bundle_id, p_environment, v_id, NULL, 2::smallint, p_now) IS NOT NULL THEN
            v_asked := v_asked + 1;
        END IF;
    END LOOP;
    -- 3. Of an app with few of the contracts, not every draw finds enough: the next one makes up for it.
    UPDATE appstore.reconcile_walks AS w SET until = v_until + v_asked * interval '24 hours' / p_sample
    WHERE w.bundle_id = p_bundle_id AND w.environment = p_environment AND w.walk = 'sample';
    RETURN v_asked;
END
$$;
COMMENT ON FUNCTION appstore.ask_about_a_sample IS
    'Asks about active contracts of an app, chosen at random: so many a day, at most 10 in a call. Returns how many.';

CREATE OR REPLACE FUNCTION appstore.settle_questions(p_has_backlog boolean, p_now timestamptz) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    v_question appstore.reconcile_questions;
    v_call     record;
    v_named    record;
    v_result   text;
    v_settled  integer := 0;
BEGIN
    FOR v_question IN
        SELECT q.* FROM appstore.reconcile_questions AS q
        WHERE q.result IS NULL
          -- IS TRUE keeps the planner from the indexes of open calls.
          AND NOT EXISTS (SELECT FROM appstore.outbox AS c WHERE c.call_id = q.call_id AND (c.state = 'open') IS TRUE OFFSET 0)
        ORDER BY q.question_id LIMIT 2000 FOR UPDATE
    LOOP
        SELECT c.state, c.settled_at, c.answer_event_id INTO v_call FROM appstore.outbox AS c WHERE c.call_id = v_question.call_id;
        -- 1. The event of the answer that names the contract, or the charge. Without one for an hour, there is none, unless it waits.
        SELECT bool_or(o.result NOT IN ('rejected', 'failed', 'discarded')) AS is_genuine, count(*) AS events INTO v_named
        FROM (SELECT o.result FROM appstore.outcomes AS o
              WHERE o.original_transaction_id = v_question.original_transaction_id AND o.environment = v_question.environment::text
                AND o.event_id >= v_call.answer_event_id AND o.source IN ('subscription_status', 'transaction_info')
                AND (v_question.transaction_id IS NULL OR o.transaction_id = v_question.transaction_id) OFFSET 0) AS o;
        CONTINUE WHEN v_call.state = 'answered' AND v_named.events = 0
                      AND (p_has_backlog OR v_call.settled_at > p_now - interval '1 hour');
        -- 2. Other events could have changed the same.
        v_result := CASE
            WHEN v_call.state IS DISTINCT FROM 'answered' OR v_named.is_genuine IS NOT TRUE THEN 'unanswered'
            WHEN EXISTS (SELECT FROM appstore.outcomes AS o
                         WHERE o.original_transaction_id = v_question.original_transaction_id AND o.environment = v_question.environment::text
                           AND o.settled_at >= v_question.asked_at AND o.source NOT IN ('subscription_status', 'transaction_info')
                           AND o.result = 'applied' OFFSET 0) THEN 'overtaken'
            WHEN EXISTS (SELECT FROM appstore.ledger_about(v_question.environment, v_question.original_transaction_id, v_question.transaction_id) AS s
                         WHERE (s.revoked_at, s.access_until) IS DISTINCT FROM (v_question.revoked_at, v_question.access_until))
                THEN 'changed'
            ELSE 'same' END;
        UPDATE appstore.reconcile_questions AS q SET result = v_result, settled_at = p_now WHERE q.question_id = v_question.question_id;
        IF v_result IN ('same', 'changed') THEN
            INSERT INTO appstore.reconcile_counts (day, rule, answered, changed)
            VALUES ((p_now AT TIME ZONE 'UTC')::date, v_question.rule, 1, (v_result = 'changed')::integer)
            ON CONFLICT (day, rule) DO UPDATE
            SET answered = reconcile_counts.answered + 1, changed = reconcile_counts.changed + excluded.changed;
        END IF;
        -- 3. Rules without a schedule ask until there is an answer.
        IF v_result <> 'unanswered' AND v_question.rule IN ('no_renewal_info', 'revoked_doubt', 'price_consent') THEN
            DELETE FROM appstore.reconcile_watches AS w
            WHERE w.original_transaction_id = v_question.original_transaction_id AND w.environment = v_question.environment
              AND w.rule = v_question.rule AND w.transaction_id IS NOT DISTINCT FROM v_question.transaction_id;
        END IF;
        -- 4. A call that could not be made is made up for before the schedule's next one, which may be weeks away.
        IF v_call.state = 'given_up' THEN
            UPDATE appstore.reconcile_watches AS w SET next_at = p_now
            WHERE w.original_transaction_id = v_question.original_transaction_id AND w.environment = v_question.environment
              AND w.rule = v_question.rule AND w.next_at > p_now + interval '1 hour' AND w.questions < 20;
        END IF;
        v_settled := v_settled + 1;
    END LOOP;
    RETURN v_settled;
END
$$;
COMMENT ON FUNCTION appstore.settle_questions IS
    'Finds the results of the questions whose calls are settled and whose answers are in the ledger, at most 2,000. Returns how many.';
