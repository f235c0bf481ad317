CREATE OR REPLACE FUNCTION appstore.forget(user_id text, note text DEFAULT NULL)
RETURNS TABLE (alias text, orders bigint, contracts bigint, posts bigint, bodies bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_user      text := forget.user_id;
    v_alias     text;
    v_posts     bigint[];
    v_contracts appstore.contract_key[];
    v_bodies    bigint[];
    v_renamed   record;
    v_orders    bigint := 0;
    v_rows      bigint := 0;
    v_is_told   boolean := (SELECT s.is_on FROM appstore.feed_switch AS s); -- before the feed's head is locked, as in a step
BEGIN
    IF v_user IS NULL OR char_length(v_user) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 characters' USING ERRCODE = 'invalid_parameter_value';
    ELSIF position(v_user IN forget.note) > 0 THEN
        RAISE EXCEPTION 'the note names the user' USING ERRCODE = 'invalid_parameter_value', HINT =
            'The note stays in the audit log. Name your request instead, such as a ticket.';
    END IF;
    PERFORM appstore.demand_read_committed();
    v_alias := CASE WHEN v_user LIKE 'forgotten:%' THEN v_user ELSE 'forgotten:' || gen_random_uuid() END;
    v_posts := ARRAY(
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
        UNION ALL
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user
        UNION ALL
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_app_transaction' AND appstore.posted_by(i.body) = v_user);

    -- 1. The queue and the outcomes, which a batch locks before it writes the ledger.
    PERFORM appstore.discard_waiting_posts(v_posts);
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.original_transaction_id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c WHERE c.is_owned);
    v_bodies := appstore.delete_bodies(v_posts, v_contracts);

    -- 2. The ledger, until a round under its locks no longer finds the name.
    WHILE v_user <> v_alias LOOP
        SELECT * INTO v_renamed FROM appstore.rename_in_ledger(v_user, v_alias);
        v_orders := v_orders + v_renamed.orders;
        v_rows := v_rows + v_renamed.orders + v_renamed.others;
        EXIT WHEN v_renamed.orders + v_renamed.others = 0;
    END LOOP;

    IF v_rows = 0 AND v_posts = '{}' AND v_contracts = '{}' THEN
        RAISE NOTICE 'there is nothing of this user' USING HINT = 'Nothing was changed, and nothing was written to the audit log.';
        v_alias := NULL;
    ELSE
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
        VALUES (clock_timestamp(), appstore.actor(), 'forget', v_bodies, forget.note,
                jsonb_build_object('alias', v_alias, 'orders', v_orders, 'contracts', cardinality(v_contracts)));
        -- Under the locks of the contracts: of posts, those that come from now on may claim them.
        INSERT INTO appstore.forgotten_users (alias, forgotten_at) VALUES (v_alias, clock_timestamp()) ON CONFLICT (alias) DO NOTHING;
        IF v_is_told AND v_user <> v_alias THEN
            INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', v_user);
        END IF;
    END IF;
    RETURN QUERY SELECT v_alias, v_orders, cardinality(v_contracts)::bigint, cardinality(v_posts)::bigint, cardinality(v_bodies)::bigint;
END
$$;
COMMENT ON FUNCTION appstore.forget IS
    'Erases a user: replaces the user''s name in the ledger by an alias, discards the user''s client posts that still wait, and '
    'deletes the bodies of the posts and of all settled events about contracts that are or were the user''s, which a link that was taken back '
    'does not make them. Deletes what endpoints answered about the user, and the evidence and details of decisions about consumption; ends the user''s consent. '
    'Returns the alias, how many orders '
    'and owned contracts there were, how many posts, and how many bodies were deleted; alias is null, with a notice, when there was nothing. '
    'Where the feed is on, an entry user.forgotten names the user until it ages. Erases the notes of the user''s links, also in the audit log; other '
    'free text stays as it is: notes of the audit log, reasons of discards, errors. Fails when the note names the user.';

-- A post that is requeued meanwhile is in the queue once its lock is granted: another round discards it.
CREATE OR REPLACE FUNCTION appstore.discard_waiting_posts(posts bigint[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
BEGIN
    LOOP
        PERFORM FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (posts) ORDER BY q.event_id FOR UPDATE;
        WITH ended AS (
            DELETE FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (posts) RETURNING q.event_id, q.run, q.attempts
        )
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(), ended.run, ended.attempts, 'discarded', 'forgotten'
        FROM ended CROSS JOIN LATERAL (
            SELECT i.event_id, i.source, i.received_at FROM appstore.inbox AS i WHERE i.event_id = ended.event_id OFFSET 0
        ) AS i;
        PERFORM FROM appstore.outcomes AS o WHERE o.event_id = ANY (posts) ORDER BY o.event_id FOR UPDATE;
        EXIT WHEN NOT EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (posts));
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.discard_waiting_posts IS
    'Discards those of the events that wait, and locks the outcomes of all, so that none can run or be requeued before the end of the '
    'transaction. Waits for a worker that holds one.';

CREATE OR REPLACE FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_events  bigint[] := ARRAY(
        SELECT unnest(posts)
        UNION
        SELECT o.event_id FROM unnest(contracts) AS c (environment, id) CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.original_transaction_id = c.id AND o.environment = c.environment::text OFFSET 0
        ) AS o
        UNION -- events about several contracts
        SELECT e.event_id FROM unnest(contracts) AS c (environment, id) CROSS JOIN LATERAL (
            SELECT e.event_id FROM appstore.event_contracts AS e
            WHERE e.original_transaction_id = c.id AND e.environment = c.environment OFFSET 0
        ) AS e
        UNION -- answers about the customer's download of the app, which name the transaction that was asked about
        SELECT o.event_id FROM unnest(contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT t.transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.original_transaction_id = t.transaction_id AND o.environment = c.environment::text AND o.source = 'app_transaction' OFFSET 0
        ) AS o);
    v_keys    text[] := ARRAY(
        SELECT place.name || ':' || id.id FROM unnest(contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT c.id
            UNION
            SELECT t.transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment
        ) AS id (id)
        CROSS JOIN LATERAL (VALUES (lower(c.environment::text)), ('any')) AS place (name));
    v_calls   bigint[];
    v_answers bigint[];
BEGIN
    -- 1. Questions and changes whose answers would come afterwards, and what would ask again. Extensions have other keys, and no answer that is
    --    stored.
    DELETE FROM appstore.reconcile_watches AS w USING unnest(contracts) AS c (environment, id)
    WHERE w.original_transaction_id = c.id AND w.environment = c.environment;
    UPDATE appstore.outbox AS c SET state = 'discarded', reason = 'forgotten', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (ARRAY(
              SELECT o.call_id FROM unnest(v_keys) AS asked (call_key)
              CROSS JOIN LATERAL (SELECT o.call_id, o.kind FROM appstore.outbox AS o WHERE o.call_key = asked.call_key AND o.state = 'open' OFFSET 0) AS o
              WHERE o.kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction',
                               'set_app_account_token', 'customer_groups', 'seat_info')))
      AND (c.state = 'open') IS TRUE;
    -- What Apple said of the customer's groups and seats is no event: the call has it.
    UPDATE appstore.outbox AS c SET answer = NULL
    WHERE c.call_id = ANY (ARRAY(
              SELECT o.call_id FROM unnest(v_keys) AS asked (call_key)
              CROSS JOIN LATERAL (SELECT o.call_id FROM appstore.outbox AS o
                                  WHERE o.call_key = asked.call_key AND o.kind IN ('customer_groups', 'seat_info') OFFSET 0) AS o))
      AND c.answer IS NOT NULL;

    -- 2. Calls that are made from those bodies. Where another event requested the same call, the call uses its body from now on. The others
    --    are discarded; the bodies of their answers and fallback events are deleted as well. Calls are found by their ids, hence IS TRUE: an
    --    index of open calls seems cheaper while statistics know of none.
    v_calls := ARRAY(SELECT c.call_id FROM appstore.outbox AS c WHERE c.event_id = ANY (v_events) ORDER BY c.call_id FOR UPDATE);
    UPDATE appstore.outbox AS c SET event_id = heir.event_id
    FROM unnest(v_calls) AS call (id)
    CROSS JOIN LATERAL (
        SELECT min(i.event_id) AS event_id
        FROM appstore.outbox AS asked JOIN appstore.inbox AS i ON i.event_id = ANY (asked.asked_by)
        WHERE asked.call_id = call.id AND i.event_id <> ALL (v_events)
    ) AS heir
    WHERE c.call_id = call.id AND heir.event_id IS NOT NULL;
    UPDATE appstore.outbox AS c SET state = 'discarded', reason = 'forgotten', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND (c.state = 'open') IS TRUE;
    v_answers := ARRAY(SELECT answer.event_id
                       FROM appstore.outbox AS c CROSS JOIN LATERAL unnest(ARRAY[c.answer_event_id, c.fallback_event_id]) AS answer (event_id)
                       WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND answer.event_id IS NOT NULL);
    PERFORM appstore.discard_waiting_posts(v_answers);

    -- 3. Bodies of settled events. An outcome that is locked cannot be requeued.
    v_events := ARRAY(SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_events || v_answers)
                      ORDER BY o.event_id FOR UPDATE);
    v_events := ARRAY(SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events) ORDER BY i.event_id);
    DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events);
    RETURN v_events;
END
$$;
COMMENT ON FUNCTION appstore.delete_bodies IS
    'Deletes the bodies of these posts and of all settled events about these contracts, and ends the calls that were made of them, and questions '
    'about the contracts, and deletes what Apple answered about their groups and seats. Returns the events whose bodies were deleted.';
