-- The ways in of the legacy App Store: notifications V1 for ingest, receipts for the shop's own backend; and how a user is forgotten of whom
-- they speak.

-- Ingest has compared the shared secret: that it did is all that vouches for a body of source notification_v1.
CREATE OR REPLACE FUNCTION appstore.receive(bodies bytea[], source text DEFAULT 'notification_v2'::text) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
BEGIN
    IF source IS NULL OR source NOT IN ('notification_v2', 'notification_v1') THEN
        RAISE EXCEPTION 'source % may not be received', quote_nullable(source) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body)
        SELECT receive.source, clock_timestamp(), received.body
        FROM unnest(bodies) WITH ORDINALITY AS received (body, position)
        ORDER BY received.position
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id;
END
$$;

ALTER TABLE appstore.api_keys
    DROP CONSTRAINT api_keys_verbs_are_known,
    ADD CONSTRAINT api_keys_verbs_are_known CHECK (cardinality(verbs) > 0 AND verbs <@ ARRAY[
        'orders:create', 'transactions:submit', 'receipts:submit', 'events:read', 'entitlements:read', 'subscriptions:read',
        'contracts:link']);

-- Stores a receipt that a client posts, for the worker, and returns its event id.
CREATE FUNCTION appstore.submit_receipt(body bytea) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH stored AS (
        INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_receipt', clock_timestamp(), submit_receipt.body)
        RETURNING inbox.event_id, inbox.received_at, octet_length(inbox.body) AS bytes
    )
    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
    SELECT stored.event_id, stored.received_at, stored.bytes FROM stored
    RETURNING inbox_ready.event_id
$$;

-- Which of these charges are in the books, and whose they are: 'you', 'another' or 'nobody'. A client may finish what is in the books and
-- somebody's. In the order in which they are asked for. Null bundle_ids stand for any app.
CREATE FUNCTION appstore.api_receipt_charges(environment text, transaction_ids text[], user_id text, bundle_ids text[])
RETURNS TABLE (transaction_id text, original_transaction_id text, product_id text, owner text, may_finish boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT t.transaction_id, t.original_transaction_id, t.product_id,
           CASE WHEN owner.user_id IS NULL THEN 'nobody' WHEN owner.user_id = api_receipt_charges.user_id THEN 'you' ELSE 'another' END,
           owner.user_id IS NOT NULL
    FROM unnest(api_receipt_charges.transaction_ids) WITH ORDINALITY AS asked (id, position)
    CROSS JOIN LATERAL (
        SELECT t.transaction_id, t.original_transaction_id, t.product_id, t.order_no, t.bundle_id FROM appstore.transactions AS t
        WHERE t.transaction_id = asked.id AND t.environment = api_receipt_charges.environment OFFSET 0
    ) AS t
    LEFT JOIN LATERAL (
        SELECT o.user_id FROM appstore.orders AS o WHERE o.no = t.order_no AND o.environment = api_receipt_charges.environment OFFSET 0
    ) AS o ON true
    LEFT JOIN LATERAL (
        SELECT m.user_id FROM appstore.member_contracts AS m
        WHERE m.contract_id = t.original_transaction_id AND m.environment = api_receipt_charges.environment OFFSET 0
    ) AS m ON true
    CROSS JOIN LATERAL (SELECT coalesce(o.user_id, m.user_id) AS user_id) AS owner
    WHERE api_receipt_charges.bundle_ids IS NULL OR t.bundle_id = ANY (api_receipt_charges.bundle_ids)
    ORDER BY asked.position
$$;

CREATE OR REPLACE FUNCTION appstore.api_event(event_id bigint, with_submission boolean) RETURNS TABLE(received_at timestamp with time zone, settled_at timestamp with time zone, outcome text, reason text, environment text, bundle_id text, transaction_id text, original_transaction_id text, submission bytea)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT coalesce(o.received_at, i.received_at), o.settled_at, o.result, o.reason, o.environment, o.bundle_id, o.transaction_id,
           o.original_transaction_id, CASE WHEN api_event.with_submission THEN i.body END
    FROM (SELECT api_event.event_id) AS asked
    LEFT JOIN appstore.inbox AS i ON i.event_id = asked.event_id
    LEFT JOIN appstore.outcomes AS o ON o.event_id = asked.event_id
    WHERE coalesce(o.source, i.source) IN ('client_transaction', 'client_receipt')
$$;

-- The receipts that a user posted. An index beside inbox_by_poster and not a wider one in its place: there are none yet, so that this reads no
-- body while it holds the lock.
CREATE INDEX inbox_receipts_by_poster ON appstore.inbox (appstore.posted_by(body)) WHERE source = 'client_receipt';

CREATE OR REPLACE FUNCTION appstore.contracts_of(user_id text) RETURNS TABLE(environment text, id text, is_his boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
    WITH his AS (
        SELECT k.environment, k.original_transaction_id AS id FROM appstore.claims AS k WHERE k.user_id = contracts_of.user_id
        UNION ALL
        SELECT l.environment, l.original_transaction_id FROM appstore.owner_links AS l WHERE l.user_id = contracts_of.user_id
        UNION ALL
        SELECT m.environment, m.contract_id FROM appstore.member_contracts AS m WHERE m.user_id = contracts_of.user_id
        UNION ALL
        SELECT o.environment, o.origin_no FROM appstore.orders AS o WHERE o.user_id = contracts_of.user_id AND o.origin_no IS NOT NULL
        UNION ALL -- a charge names his order, and pays another one, or none
        SELECT o.environment, t.original_transaction_id
        FROM appstore.orders AS o
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.first_token = o.no AND t.environment = o.environment OFFSET 0
        ) AS t
        WHERE o.user_id = contracts_of.user_id AND o.no IS DISTINCT FROM o.period_no
        UNION ALL
        SELECT o.environment, t.original_transaction_id
        FROM appstore.orders AS o
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.app_account_token = o.no AND t.environment = o.environment AND t.app_account_token <> t.first_token OFFSET 0
        ) AS t
        WHERE o.user_id = contracts_of.user_id AND o.no IS DISTINCT FROM o.period_no
    )
    SELECT c.environment, c.id, bool_or(c.is_his)
    FROM (
        SELECT his.environment::text, his.id, true FROM his
        UNION ALL
        SELECT s.environment, s.original_transaction_id, false FROM appstore.submissions AS s WHERE s.user_id = contracts_of.user_id
        UNION ALL
        SELECT r.environment, r.original_transaction_id, false FROM appstore.receipt_submissions AS r
        WHERE r.user_id = contracts_of.user_id
    ) AS c (environment, id, is_his)
    GROUP BY c.environment, c.id
$$;

CREATE OR REPLACE FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_events bigint[] := ARRAY(
        SELECT unnest(delete_bodies.posts)
        UNION
        SELECT o.event_id
        FROM unnest(delete_bodies.contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            WHERE o.original_transaction_id = c.id AND o.environment = c.environment OFFSET 0
        ) AS o
        UNION -- one of several contracts that the event is about
        SELECT e.event_id
        FROM unnest(delete_bodies.contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT e.event_id FROM appstore.event_contracts AS e
            WHERE e.original_transaction_id = c.id AND e.environment = c.environment OFFSET 0
        ) AS e);
    v_calls   bigint[];
    v_answers bigint[];
BEGIN
    -- Calls of those bodies. One that somebody else asked for, too, is made of his body from now on, and its answer is his. The others have
    -- nothing to send any more; what was answered to them, and what spoke in an answer's place, are bodies themselves.
    v_calls := ARRAY(
        SELECT c.call_id FROM appstore.outbox AS c WHERE c.event_id = ANY (v_events) ORDER BY c.call_id FOR UPDATE);
    UPDATE appstore.outbox AS c SET event_id = heir.event_id
    FROM unnest(v_calls) AS call (id)
    CROSS JOIN LATERAL (
        SELECT min(i.event_id) AS event_id
        FROM appstore.outbox AS asked JOIN appstore.inbox AS i ON i.event_id = ANY (asked.asked_by)
        WHERE asked.call_id = call.id AND i.event_id <> ALL (v_events)
    ) AS heir
    WHERE c.call_id = call.id AND heir.event_id IS NOT NULL;
    UPDATE appstore.outbox AS c SET state = 'discarded', reason = 'forgotten', settled_at = clock_timestamp(), is_leased = false
    WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND (c.state = 'open') IS TRUE; -- found by its id
    v_answers := ARRAY(SELECT spoken.event_id
                       FROM appstore.outbox AS c CROSS JOIN LATERAL unnest(ARRAY[c.answer_event_id, c.fallback_event_id]) AS spoken (event_id)
                       WHERE c.call_id = ANY (v_calls) AND c.event_id = ANY (v_events) AND spoken.event_id IS NOT NULL);
    PERFORM appstore.end_posts(v_answers); -- those that wait
    v_events := v_events || v_answers;
    v_events := ARRAY( -- a locked outcome cannot be requeued
        SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_events) ORDER BY o.event_id FOR UPDATE);
    v_events := ARRAY(SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events) ORDER BY i.event_id);
    DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events);
    RETURN v_events;
END
$$;

CREATE OR REPLACE FUNCTION appstore.rename_in_books(user_id text, alias text, OUT orders bigint, OUT others bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user      text := rename_in_books.user_id;
    v_alias     text := rename_in_books.alias;
    v_contracts appstore.contract_key[];
    v_rows      bigint;
BEGIN
    -- 1. His orders, and their twins that are being made; then the contracts.
    PERFORM pg_advisory_xact_lock(hashtextextended(made.no::text, 0))
    FROM (SELECT DISTINCT o.no FROM appstore.orders AS o WHERE o.user_id = v_user AND o.no IS DISTINCT FROM o.period_no
          ORDER BY o.no) AS made;
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user ORDER BY o.environment, o.no FOR UPDATE;
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c ORDER BY c.environment, c.id);
    PERFORM FROM unnest(v_contracts) AS c (environment, id)
    CROSS JOIN LATERAL (
        SELECT FROM appstore.member_contracts AS m WHERE m.contract_id = c.id AND m.environment = c.environment FOR UPDATE
    ) AS locked;

    -- 2. The name.
    UPDATE appstore.orders AS o SET user_id = v_alias WHERE o.user_id = v_user;
    GET DIAGNOSTICS orders = ROW_COUNT;
    UPDATE appstore.member_contracts AS m SET user_id = v_alias WHERE m.user_id = v_user;
    GET DIAGNOSTICS others = ROW_COUNT;
    UPDATE appstore.claims AS k SET user_id = v_alias WHERE k.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.receipt_submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.owner_links AS l SET user_id = v_alias, note = NULL WHERE l.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.effects AS e SET user_id = v_alias
    WHERE e.ctid = ANY (ARRAY(
        SELECT known.ctid
        FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT seen.ctid FROM appstore.effects AS seen
            WHERE seen.original_transaction_id = c.id AND seen.environment = c.environment AND seen.user_id = v_user OFFSET 0
        ) AS known));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
END
$$;

CREATE OR REPLACE FUNCTION appstore.forget(user_id text, note text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_user      text := forget.user_id;
    v_alias     text := CASE WHEN v_user LIKE 'forgotten:%' THEN v_user ELSE 'forgotten:' || gen_random_uuid() END;
    v_words     record;
    v_posts     bigint[];
    v_contracts appstore.contract_key[];
    v_events    bigint[];
    v_renamed   record;
    v_orders    bigint := 0;
BEGIN
    IF v_user IS NULL OR octet_length(v_user) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF appstore.mentions(forget.note, v_user) THEN
        RAISE EXCEPTION 'the note must not name the user: it is kept in the audit log' USING ERRCODE = 'invalid_parameter_value';
    ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'forget must see what others commit meanwhile: call it in READ COMMITTED'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;

    -- 1. Repairs that are going on write the alias from now on. No other row is locked before everything that takes time has been found.
    UPDATE appstore.repairs AS r
    SET note = appstore.without_name(r.note, v_user, v_alias), error = appstore.without_name(r.error, v_user, v_alias),
        filter = CASE WHEN r.filter ? 'reason' THEN jsonb_set(r.filter, '{reason}', to_jsonb(
                          appstore.without_name(r.filter ->> 'reason', v_user, v_alias)))
                      ELSE r.filter END
    WHERE v_user <> v_alias
      AND (appstore.mentions(r.note, v_user) OR appstore.mentions(r.error, v_user) OR appstore.mentions(r.filter ->> 'reason', v_user));
    SELECT * INTO v_words FROM appstore.words_about(v_user);
    v_posts := ARRAY(
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
        UNION ALL
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user);

    -- 2. The queue and the outcomes. Whoever writes books has what he settles locked before; so it must be here.
    PERFORM appstore.end_posts(v_posts);
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c WHERE c.is_his);
    v_events := appstore.delete_bodies(v_posts, v_contracts);
    IF v_user <> v_alias THEN
        PERFORM appstore.rename_in_words(v_user, v_alias, v_words.audits, v_words.links, v_words.events);

        -- 3. The books, until a look behind the locks finds the name no more.
        LOOP
            SELECT * INTO v_renamed FROM appstore.rename_in_books(v_user, v_alias);
            v_orders := v_orders + v_renamed.orders;
            EXIT WHEN v_renamed.orders + v_renamed.others = 0;
        END LOOP;
    END IF;

    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'forget', v_events, forget.note,
            jsonb_build_object('alias', v_alias, 'orders', v_orders, 'contracts', cardinality(v_contracts)));
    RETURN v_alias;
END
$$;

CREATE OR REPLACE FUNCTION appstore.age(walk text) RETURNS TABLE(looked bigint, deleted bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '1s'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_batch     CONSTANT integer := 500;
    v_of_junk   boolean := age.walk IN ('rejected_bodies', 'rejected_outcomes');
    v_of_bodies boolean := age.walk IN ('rejected_bodies', 'default_bodies');
    v_cutoff    timestamptz;
    v_walk      appstore.retention_walks;
    v_looked    bigint;
    v_is_over   boolean;
    v_ids       bigint[];
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN;
    END IF;
    SELECT w.* INTO v_walk FROM appstore.retention_walks AS w WHERE w.walk = age.walk;
    IF v_walk.walk IS NULL THEN
        RAISE EXCEPTION 'there is no walk %', quote_nullable(age.walk) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT clock_timestamp() - CASE age.walk WHEN 'rejected_bodies' THEN r.rejected_bodies WHEN 'rejected_outcomes' THEN r.rejected_outcomes
                                             WHEN 'default_bodies' THEN r.bodies WHEN 'outcomes' THEN r.outcomes END
    INTO v_cutoff FROM appstore.retention AS r;
    IF v_cutoff IS NULL THEN
        RETURN; -- for ever
    END IF;

    -- 1. The next rows of the walk. Junk is walked by the time of its outcome, and a requeued event gets a new one: there is no way back.
    --    The other walks begin anew when they come to what was received lately.
    IF v_of_junk THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), false, coalesce(max(next.settled_at), v_walk.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_walk.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.settled_at, v_walk.event_id
        FROM (
            SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
            WHERE o.result = 'rejected' AND o.settled_at < v_cutoff
              AND o.settled_at >= v_walk.settled_at AND (o.settled_at, o.event_id) > (v_walk.settled_at, v_walk.event_id)
            ORDER BY o.settled_at, o.event_id LIMIT c_batch
        ) AS next;
    ELSIF v_of_bodies THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), bool_and(next.received_at >= v_cutoff), max(next.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.event_id
        FROM (
            SELECT i.event_id, i.received_at FROM appstore.inbox_default AS i
            WHERE i.event_id > v_walk.event_id ORDER BY i.event_id LIMIT c_batch
        ) AS next;
    ELSE
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), bool_and(next.received_at >= v_cutoff), max(next.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.event_id
        FROM (
            SELECT o.event_id, o.received_at FROM appstore.outcomes AS o
            WHERE o.event_id > v_walk.event_id ORDER BY o.event_id LIMIT c_batch
        ) AS next;
    END IF;
    IF v_looked = 0 OR v_is_over THEN
        v_looked := 0;
        v_walk.event_id := CASE WHEN v_of_junk THEN v_walk.event_id ELSE 0 END;
    END IF;

    -- 2. Those that have aged. An outcome that is locked here cannot be requeued before the end.
    v_ids := ARRAY(
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (v_ids) AND o.settled_at < v_cutoff AND (NOT v_of_junk OR appstore.is_junk(o))
          AND (age.walk <> 'outcomes' OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.event_id FOR UPDATE);
    IF v_of_junk OR v_of_bodies THEN
        DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_ids);
    END IF;
    IF NOT v_of_bodies THEN
        DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
        DELETE FROM appstore.event_contracts AS e WHERE e.event_id = ANY (v_ids);
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);
    END IF;
    UPDATE appstore.retention_walks AS w SET settled_at = v_walk.settled_at, event_id = v_walk.event_id WHERE w.walk = age.walk;
    RETURN QUERY SELECT v_looked, cardinality(v_ids)::bigint;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.submit_receipt(bytea), appstore.api_receipt_charges(text, text[], text, text[]) TO appstore_api;
