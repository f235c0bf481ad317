-- Erasure: what says who a customer is goes, what was sold stays.

CREATE TYPE appstore.contract_key AS (environment text, id text);

-- Who posted a client's transaction, by its body; null when the body says nothing that can be read.
CREATE FUNCTION appstore.posted_by(body bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN convert_from(body, 'UTF8')::jsonb ->> 'user';
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;

-- Takes a user's name out of the database, in both environments, and returns what stands in its place: `forgotten:` and a random uuid,
-- the same in all books. Orders, contracts and claims are functions of what they are derived from; the name is replaced everywhere at once,
-- so that a later notification derives the same books under the new name, and amounts, trade numbers and access stay. The bodies of the
-- user's settled events and of those of his contracts are deleted; what a client of his posted and has no outcome yet is discarded.
--
-- Calling it again, also with the name that it returned, takes what has come since. It sees only what has been committed: should the user's
-- app go on posting, call it again. Requests in progress may wait for it and it for them; a deadlock (40P01) or lock time-out (55P03) has
-- changed nothing: call it again. Dead rows, WAL and backups keep the name until vacuum, recycling and rotation have passed over them.
CREATE FUNCTION appstore.forget(user_id text, note text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = on SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_user      text := forget.user_id;
    v_alias     text := CASE WHEN v_user LIKE 'forgotten:%' THEN v_user ELSE 'forgotten:' || gen_random_uuid() END;
    v_contracts appstore.contract_key[];
    v_waiting   bigint[];
    v_events    bigint[];
    v_orders    bigint;
BEGIN
    IF v_user IS NULL OR octet_length(v_user) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF position(v_user IN note) > 0 THEN
        RAISE EXCEPTION 'the note must not name the user: it is kept in the audit log' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- 1. What his clients posted and is waiting. A batch that has one of them in its hands is waited for: what it writes is seen below.
    v_waiting := ARRAY(
        SELECT i.event_id FROM appstore.inbox_ready AS r JOIN appstore.inbox AS i ON i.event_id = r.event_id
        WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
        ORDER BY i.event_id);
    WITH locked AS MATERIALIZED (
        SELECT r.event_id, r.attempts FROM appstore.inbox_ready AS r WHERE r.event_id = ANY (v_waiting) ORDER BY r.event_id FOR UPDATE
    ), taken AS (
        DELETE FROM appstore.inbox_ready AS r USING locked WHERE r.event_id = locked.event_id RETURNING r.event_id, r.attempts
    )
    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
    SELECT i.event_id, i.source, i.received_at, clock_timestamp(),
           1 + coalesce((SELECT max(h.run) FROM appstore.outcome_history AS h WHERE h.event_id = i.event_id), 0), taken.attempts,
           'discarded', 'forgotten'
    FROM taken JOIN appstore.inbox AS i ON i.event_id = taken.event_id;

    -- 2. His contracts: whatever was ever said to be his.
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.id)::appstore.contract_key
        FROM (
            SELECT k.environment, k.original_transaction_id AS id FROM appstore.claims AS k WHERE k.user_id = v_user
            UNION SELECT s.environment, s.original_transaction_id FROM appstore.submissions AS s WHERE s.user_id = v_user
            UNION SELECT l.environment, l.original_transaction_id FROM appstore.owner_links AS l WHERE l.user_id = v_user
            UNION SELECT m.environment, m.contract_id FROM appstore.member_contracts AS m WHERE m.user_id = v_user
            UNION SELECT o.environment, o.origin_no FROM appstore.orders AS o WHERE o.user_id = v_user AND o.origin_no IS NOT NULL
            UNION SELECT e.environment, e.original_transaction_id FROM appstore.effects AS e
            WHERE e.user_id = v_user AND e.original_transaction_id IS NOT NULL
        ) AS c);

    -- 3. The name, in the order in which every writer locks.
    PERFORM FROM appstore.orders AS o WHERE o.user_id = v_user ORDER BY o.environment, o.no FOR UPDATE;
    UPDATE appstore.orders AS o SET user_id = v_alias WHERE o.user_id = v_user;
    GET DIAGNOSTICS v_orders = ROW_COUNT;
    PERFORM FROM appstore.member_contracts AS m WHERE m.user_id = v_user ORDER BY m.environment, m.contract_id FOR UPDATE;
    UPDATE appstore.member_contracts AS m SET user_id = v_alias WHERE m.user_id = v_user;
    UPDATE appstore.claims AS k SET user_id = v_alias WHERE k.user_id = v_user;
    UPDATE appstore.submissions AS s SET user_id = v_alias WHERE s.user_id = v_user;
    UPDATE appstore.owner_links AS l SET user_id = v_alias, note = NULL WHERE l.user_id = v_user;
    UPDATE appstore.effects AS e SET user_id = v_alias WHERE e.user_id = v_user;
    UPDATE appstore.audit_log AS a SET note = NULL
    WHERE (position(v_user IN a.note) > 0 AND v_user <> v_alias)
       OR (a.action = 'link_owner' AND a.note IS NOT NULL
           AND ROW(a.filter ->> 'environment', a.filter ->> 'original_transaction_id')::appstore.contract_key = ANY (v_contracts));

    -- 4. The bodies: of all settled events about his contracts, and of what his clients posted about others.
    v_events := ARRAY(
        SELECT o.event_id FROM unnest(v_contracts) AS c (environment, id)
        JOIN appstore.outcomes AS o ON o.original_transaction_id = c.id AND o.environment = c.environment
        UNION
        SELECT o.event_id FROM appstore.outcomes AS o JOIN appstore.inbox AS i ON i.event_id = o.event_id
        WHERE o.source = 'client_transaction' AND o.result IN ('failed', 'rejected', 'unhandled', 'discarded')
          AND appstore.posted_by(i.body) = v_user);
    v_events := ARRAY( -- a locked outcome cannot be requeued
        SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_events) ORDER BY o.event_id FOR UPDATE);
    v_events := ARRAY(SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events) ORDER BY i.event_id);
    DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_events);

    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
    VALUES (clock_timestamp(), session_user, 'forget', v_events, forget.note,
            jsonb_build_object('alias', v_alias, 'orders', v_orders, 'contracts', cardinality(v_contracts)));
    RETURN v_alias;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.forget(text, text) TO appstore_operator;
