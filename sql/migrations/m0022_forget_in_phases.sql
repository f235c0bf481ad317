-- Erasure by phases: what has to be searched for is collected without locks and by indexes, then everything is locked in the order of all
-- writers, changed, and looked at again.

-- Who posted a client's transaction, by its body; null when the body says nothing that can be read. Never fails: the index asks it of every
-- such event that comes in.
CREATE OR REPLACE FUNCTION appstore.posted_by(body bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_user text;
BEGIN
    v_user := convert_from(body, 'UTF8')::jsonb ->> 'user';
    RETURN CASE WHEN octet_length(v_user) <= 255 THEN v_user END;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

-- All that a user posted, whatever became of it.
CREATE INDEX inbox_by_poster ON appstore.inbox (appstore.posted_by(body)) WHERE source = 'client_transaction';
-- All contracts that a user has to do with.
CREATE INDEX claims_by_user ON appstore.claims (user_id);
CREATE INDEX submissions_by_user ON appstore.submissions (user_id);
CREATE INDEX owner_links_by_user ON appstore.owner_links (user_id);
-- Outcomes with words that a person wrote, or that an error brought along.
CREATE INDEX outcomes_with_words ON appstore.outcomes (event_id) WHERE result = 'discarded' OR last_error IS NOT NULL;
CREATE INDEX outcome_history_with_words ON appstore.outcome_history (event_id) WHERE result = 'discarded' OR last_error IS NOT NULL;

-- A pattern for the name as a word of its own: `7` is not in `1734`, nor `alice` in `malice`.
CREATE FUNCTION appstore.name_pattern(user_id text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT '(?<![[:alnum:]_])' || regexp_replace(user_id, '[^[:alnum:][:space:]]', '\\\&', 'g') || '(?![[:alnum:]_])'
$$;

CREATE FUNCTION appstore.mentions(said text, user_id text) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(position(user_id IN said) > 0 AND said ~ appstore.name_pattern(user_id), false)
$$;

CREATE FUNCTION appstore.without_name(said text, user_id text, alias text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN appstore.mentions(said, user_id) THEN regexp_replace(said, appstore.name_pattern(user_id), alias, 'g') ELSE said END
$$;

-- The contracts, and consumables, that a user has to do with. is_his: he has, or had, a claim or an order; else he only said so.
CREATE FUNCTION appstore.contracts_of(user_id text) RETURNS TABLE (environment text, id text, is_his boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
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
    ) AS c (environment, id, is_his)
    GROUP BY c.environment, c.id
$$;

-- Where people's words name a user: lines of the audit log, and events by their outcomes, their history or their last error. And the lines
-- that say why a contract of his was linked.
CREATE FUNCTION appstore.words_about(user_id text, OUT audits bigint[], OUT links bigint[], OUT events bigint[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT ARRAY(SELECT a.audit_id FROM appstore.audit_log AS a
                 WHERE appstore.mentions(a.note, words_about.user_id) OR appstore.mentions(a.filter ->> 'reason', words_about.user_id)),
           ARRAY(SELECT a.audit_id FROM appstore.audit_log AS a
                 WHERE a.action = 'link_owner' AND a.note IS NOT NULL
                   AND ROW(a.filter ->> 'environment', a.filter ->> 'original_transaction_id')::appstore.contract_key = ANY (ARRAY(
                       SELECT ROW(c.environment, c.id)::appstore.contract_key
                       FROM appstore.contracts_of(words_about.user_id) AS c WHERE c.is_his))),
           ARRAY(SELECT o.event_id FROM appstore.outcomes AS o
                 WHERE (o.result = 'discarded' OR o.last_error IS NOT NULL)
                   AND (appstore.mentions(o.last_error, words_about.user_id)
                        OR o.result = 'discarded' AND appstore.mentions(o.reason, words_about.user_id))
                 UNION
                 SELECT h.event_id FROM appstore.outcome_history AS h
                 WHERE (h.result = 'discarded' OR h.last_error IS NOT NULL)
                   AND (appstore.mentions(h.last_error, words_about.user_id)
                        OR h.result = 'discarded' AND appstore.mentions(h.reason, words_about.user_id))
                 UNION
                 SELECT r.event_id FROM appstore.inbox_ready AS r WHERE appstore.mentions(r.last_error, words_about.user_id)
                 ORDER BY 1)
$$;

-- Puts the alias into these words.
CREATE FUNCTION appstore.rename_in_words(user_id text, alias text, audits bigint[], links bigint[], events bigint[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (rename_in_words.events) ORDER BY r.event_id FOR UPDATE;
    UPDATE appstore.inbox_ready AS r
    SET last_error = appstore.without_name(r.last_error, rename_in_words.user_id, rename_in_words.alias),
        run_at = greatest(r.run_at, clock_timestamp()) -- as every writer
    WHERE r.event_id = ANY (rename_in_words.events) AND appstore.mentions(r.last_error, rename_in_words.user_id);
    -- An outcome that is being requeued is waited for, and is in the history then.
    PERFORM FROM appstore.outcomes AS o WHERE o.event_id = ANY (rename_in_words.events) ORDER BY o.event_id FOR UPDATE;
    UPDATE appstore.outcomes AS o
    SET last_error = appstore.without_name(o.last_error, rename_in_words.user_id, rename_in_words.alias),
        reason = CASE WHEN o.result = 'discarded' THEN appstore.without_name(o.reason, rename_in_words.user_id, rename_in_words.alias)
                      ELSE o.reason END
    WHERE o.event_id = ANY (rename_in_words.events);
    UPDATE appstore.outcome_history AS h
    SET last_error = appstore.without_name(h.last_error, rename_in_words.user_id, rename_in_words.alias),
        reason = CASE WHEN h.result = 'discarded' THEN appstore.without_name(h.reason, rename_in_words.user_id, rename_in_words.alias)
                      ELSE h.reason END
    WHERE h.event_id = ANY (rename_in_words.events);
    UPDATE appstore.owner_links AS l -- others' links: their notes stand in the audit log, too
    SET note = appstore.without_name(l.note, rename_in_words.user_id, rename_in_words.alias)
    WHERE l.ctid = ANY (ARRAY(
        SELECT link.ctid
        FROM appstore.audit_log AS a
        CROSS JOIN LATERAL (
            SELECT known.ctid FROM appstore.owner_links AS known
            WHERE known.original_transaction_id = a.filter ->> 'original_transaction_id'
              AND known.environment = a.filter ->> 'environment' OFFSET 0
        ) AS link
        WHERE a.audit_id = ANY (rename_in_words.audits) AND a.action = 'link_owner'));
    UPDATE appstore.audit_log AS a
    SET note = appstore.without_name(a.note, rename_in_words.user_id, rename_in_words.alias),
        filter = CASE WHEN a.filter ? 'reason' THEN jsonb_set(a.filter, '{reason}', to_jsonb(
                          appstore.without_name(a.filter ->> 'reason', rename_in_words.user_id, rename_in_words.alias)))
                      ELSE a.filter END
    WHERE a.audit_id = ANY (rename_in_words.audits);
    UPDATE appstore.audit_log AS a SET note = NULL WHERE a.audit_id = ANY (rename_in_words.links);
END
$$;

-- Ends the posts that wait, and locks the outcomes of all: none of them can run, or be requeued, before the end of the transaction. Who has
-- one in his hands is waited for; a post that was being requeued waits then, and is ended in another round.
CREATE FUNCTION appstore.end_posts(posts bigint[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    LOOP
        WITH locked AS MATERIALIZED (
            SELECT r.event_id, r.attempts FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (end_posts.posts)
            ORDER BY r.event_id FOR UPDATE
        ), taken AS (
            DELETE FROM appstore.inbox_ready AS r USING locked WHERE r.event_id = locked.event_id RETURNING r.event_id, r.attempts
        )
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
        SELECT i.event_id, i.source, i.received_at, clock_timestamp(),
               1 + coalesce((SELECT max(h.run) FROM appstore.outcome_history AS h WHERE h.event_id = i.event_id), 0), taken.attempts,
               'discarded', 'forgotten'
        FROM taken JOIN appstore.inbox AS i ON i.event_id = taken.event_id;
        PERFORM FROM appstore.outcomes AS o WHERE o.event_id = ANY (end_posts.posts) ORDER BY o.event_id FOR UPDATE;
        EXIT WHEN NOT EXISTS (SELECT FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (end_posts.posts));
    END LOOP;
END
$$;

-- Deletes the bodies of these posts and of all settled events about these contracts; returns the events.
CREATE FUNCTION appstore.delete_bodies(posts bigint[], contracts appstore.contract_key[]) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
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
        ) AS o);
BEGIN
    v_events := ARRAY( -- a locked outcome cannot be requeued
        SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_events) ORDER BY o.event_id FOR UPDATE);
    v_events := ARRAY(SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events) ORDER BY i.event_id);
    DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events);
    RETURN v_events;
END
$$;

-- Puts the alias into the books, wherever the name stands in them now, and returns how many orders and other rows had it.
--
-- The locks are those of a merge and of create_order, in their order: whoever derives a user from what is renamed here has done so before,
-- and is seen in the next round, or sees the alias.
CREATE FUNCTION appstore.rename_in_books(user_id text, alias text, OUT orders bigint, OUT others bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
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

-- Takes a user's name out of the database, in both environments, and returns what stands in its place: `forgotten:` and a random uuid,
-- the same in all books. Orders, contracts and claims are functions of what they are derived from; the name is replaced everywhere at once,
-- so that a later notification derives the same books under the new name, and amounts, trade numbers and access stay. What his clients
-- posted is deleted, and discarded where it was waiting; so are the bodies of the settled events about his contracts: those that he has, or
-- had, a claim or an order of. In what people wrote (notes, the reasons of discards) and in errors, the name is replaced where it is a word
-- of its own; why a contract of his was linked is deleted.
--
-- Calling it again, also with the name that it returned, takes what has come since. It sees only what has been committed: should the user's
-- app go on posting, call it again. Requests in progress may wait for it and it for them; a deadlock (40P01) or lock time-out (55P03) has
-- changed nothing: call it again. Dead rows, WAL and backups keep the name until vacuum, recycling and rotation have passed over them.
CREATE OR REPLACE FUNCTION appstore.forget(user_id text, note text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
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
        SELECT i.event_id FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user);

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

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
