-- What tests that count rows found: statements that read whole tables for one customer, and a repair that gave up for being in the way.

-- Says that a contract (or a single purchase) is this user's from now on: for what no order and no post of a client's settles.
--
-- As before, but what the caller is called goes into a variable first. session_user is a `name`, which brings its collation "C" along: as
-- an argument it became the collation of all text in the functions that were called with it, and no index has that.
CREATE OR REPLACE FUNCTION appstore.link_owner(environment text, original_transaction_id text, user_id text, note text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_actor text := session_user;
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF NOT EXISTS (SELECT FROM appstore.transactions AS t
                      WHERE t.environment = link_owner.environment AND t.original_transaction_id = link_owner.original_transaction_id)
          AND NOT EXISTS (SELECT FROM appstore.subscriptions AS s
                          WHERE s.environment = link_owner.environment
                            AND s.original_transaction_id = link_owner.original_transaction_id) THEN
        RAISE EXCEPTION 'no purchase is known in % with original_transaction_id %', environment,
            quote_nullable(original_transaction_id) USING ERRCODE = 'no_data_found';
    END IF;
    PERFORM appstore.record_owner_link(link_owner.environment, link_owner.original_transaction_id, link_owner.user_id, clock_timestamp(),
                                       v_actor, link_owner.note);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), v_actor, 'link_owner', '{}', link_owner.note,
            jsonb_build_object('environment', link_owner.environment, 'original_transaction_id', link_owner.original_transaction_id));
END
$$;

-- One event, one contract: never a whole table, also while the statistics still say that it is small. An operator's role has no such
-- settings, for he asks about everything, too.
ALTER FUNCTION appstore.requeue(bigint, text) SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off;
ALTER FUNCTION appstore.discard(bigint, text) SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off;
ALTER FUNCTION appstore.consumption_answered(text, text) SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off;
-- Walks: each step reads the next rows in the order of an index. A planner that believed in few rows, or in very many, read and sorted
-- all that were left instead.
ALTER FUNCTION appstore.age(text) SET enable_bitmapscan = off SET enable_sort = off;
ALTER FUNCTION appstore.drop_aged_partition() SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off;

-- What an operator looks for, newest first; and what has aged, in the order of its walk.
DROP INDEX appstore.outcomes_needing_attention;
CREATE INDEX outcomes_needing_attention ON appstore.outcomes (result, settled_at, event_id)
    WHERE result IN ('failed', 'rejected', 'unhandled', 'discarded');

-- What was done to an event: `explain` asks.
CREATE INDEX audit_log_by_event ON appstore.audit_log USING gin (event_ids);

-- What happened to a contract, as a person tells it: when it happened, when we learned of it, by which event, and a few words more.
--
-- what is an effect (granted, refunded, revoked, will_renew, will_not_renew, plan_changed, …) or one of: order_made, order_paid,
-- order_not_paid (a charge names it and is for something else); submitted (a client posted the charge as this user's), linked (somebody
-- said whose it is), claimed (a later token did); consumption_answered; event_unhandled, event_rejected, event_failed, event_discarded;
-- access_ended or access_will_end, by what is known now. learned_at is null where nothing says it.
--
-- As before, but a claim is looked up by its contract, with which its key begins.
CREATE OR REPLACE FUNCTION appstore.timeline(environment text, original_transaction_id text)
RETURNS TABLE (occurred_at timestamptz, learned_at timestamptz, event_id bigint, what text, transaction_id text, product_id text,
               order_no uuid, user_id text, detail text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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
            ON claim.environment = timeline.environment AND claim.original_transaction_id = s.original_transaction_id
               AND claim.evidence = 'client:' || s.transaction_id AND claim.user_id = s.user_id
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

-- Takes the next events of a request, at most 1,000, and says where it goes on. Not for callers.
--
-- As before, but it stops looking when it has found a step's events.
CREATE OR REPLACE FUNCTION appstore.carry_on_repair(r appstore.repairs) RETURNS appstore.repairs
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    c_step    CONSTANT integer := 1000;
    c_look    CONSTANT integer := 20000;   -- outcomes that one step looks at
    v_now     timestamptz := clock_timestamp();
    v_filter  appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, r.filter);
    v_due     bigint;
    v_found   bigint[];
    v_looked  bigint;
    v_last    bigint;
    v_done    bigint[];
    v_spread  interval := '0';
BEGIN
    r.started_at := coalesce(r.started_at, v_now);
    r.state := 'running';
    IF r.action = 'requeue' THEN
        SELECT count(*) INTO v_due FROM (SELECT FROM appstore.inbox_ready AS d WHERE d.run_at <= v_now LIMIT c_step) AS due;
        IF v_due >= c_step THEN
            r.pace := least(r.pace * 1.5, interval '10 seconds');
            r.next_step_at := v_now + r.pace / 4;
            RETURN r;
        END IF;
        r.pace := CASE WHEN v_due < 100 THEN greatest(r.pace * 0.8, interval '100 milliseconds')
                       ELSE least(r.pace * 1.25, interval '10 seconds') END;
    END IF;

    v_found := ARRAY(
        SELECT looked.event_id
        FROM (
            SELECT o.event_id,
                   o.settled_at < r.requested_at AND appstore.fits(o, v_filter)
                       AND (r.action = 'requeue' OR o.result IN ('failed', 'rejected', 'unhandled')) AS fits
            FROM appstore.outcomes AS o
            WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
            ORDER BY o.event_id LIMIT c_look
        ) AS looked
        WHERE looked.fits LIMIT c_step);
    IF cardinality(v_found) = c_step THEN
        v_last := v_found[c_step];
    ELSE
        -- An outcome that came in between is younger than the request: the walk may pass it.
        SELECT count(*), max(looked.event_id) INTO v_looked, v_last
        FROM (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.event_id > r.walked_to AND o.event_id <= r.last_event_id
            ORDER BY o.event_id LIMIT c_look
        ) AS looked;
    END IF;

    IF cardinality(v_found) > 0 AND r.action = 'requeue' THEN
        v_spread := r.pace * (cardinality(v_found)::double precision / c_step);
        v_done := appstore.put_back(v_found, r.requested_at, r.requested_by, v_spread);
    ELSIF cardinality(v_found) > 0 THEN
        v_done := appstore.discard_settled(v_found, r.requested_at, r.requested_by, r.note);
    END IF;
    IF cardinality(v_done) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
        VALUES (clock_timestamp(), r.requested_by, r.action, '{}',
                jsonb_build_object('repair_id', r.repair_id, 'events', cardinality(v_done), 'first', v_done[1],
                                   'last', v_done[cardinality(v_done)]));
    END IF;

    r.walked_to := coalesce(v_last, r.last_event_id);
    r.events_repaired := r.events_repaired + coalesce(cardinality(v_done), 0);
    r.steps := r.steps + 1;
    r.next_step_at := clock_timestamp() + v_spread;
    IF v_looked < c_look THEN
        r.state := 'done';
        r.finished_at := clock_timestamp();
    END IF;
    RETURN r;
END
$$;

-- One step of a request that is due for it and that no other worker has in its hands; returns the request's number, its state and the
-- events of this step; no row when there is none. An error is kept in the row and the step tried again, at longer and longer intervals;
-- after twenty in a row the request is `failed`. For the worker.
--
-- As before, but waiting for others is no failure: events that somebody holds for an hour do not end a request.
CREATE OR REPLACE FUNCTION appstore.repair_step() RETURNS TABLE (repair_id bigint, action text, state text, events bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
#variable_conflict use_column
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_before appstore.repairs;
    v_after  appstore.repairs;
    v_error  text;
BEGIN
    SELECT r.* INTO v_before FROM appstore.repairs AS r
    WHERE r.state IN ('requested', 'running') AND r.next_step_at <= v_now
    ORDER BY r.next_step_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    BEGIN
        v_after := appstore.carry_on_repair(v_before);
        v_after.failures := 0;
        v_after.error := NULL;
    EXCEPTION
        WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
            v_error := SQLERRM;
            v_after := v_before;
            v_after.error := v_error;
            v_after.next_step_at := clock_timestamp() + interval '5 seconds';
        WHEN OTHERS THEN
            v_error := SQLERRM;
            v_after := v_before;
            v_after.failures := v_before.failures + 1;
            v_after.error := v_error;
            v_after.next_step_at := clock_timestamp() + least(interval '1 second' * 2 ^ v_before.failures, interval '1 minute');
            IF v_after.failures >= 20 THEN
                v_after.state := 'failed';
                v_after.finished_at := clock_timestamp();
            END IF;
    END;
    UPDATE appstore.repairs AS r
    SET state = v_after.state, walked_to = v_after.walked_to, events_repaired = v_after.events_repaired, steps = v_after.steps,
        started_at = v_after.started_at, next_step_at = v_after.next_step_at, pace = v_after.pace, finished_at = v_after.finished_at,
        failures = v_after.failures, error = v_after.error
    WHERE r.repair_id = v_before.repair_id;
    RETURN QUERY SELECT v_before.repair_id, v_before.action, v_after.state, v_after.events_repaired - v_before.events_repaired;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
