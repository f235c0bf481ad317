CREATE OR REPLACE FUNCTION appstore.rename_in_ledger(user_id text, alias text, OUT orders bigint, OUT others bigint)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_user      text := rename_in_ledger.user_id;
    v_alias     text := rename_in_ledger.alias;
    v_contracts appstore.contract_key[];
    v_table     text;
    v_rows      bigint;
BEGIN
    -- Before all others, as appstore.link_import_owners locks them: what it links meanwhile is found below.
    UPDATE appstore.import_items AS i SET user_id = NULL WHERE i.user_id = v_user;
    GET DIAGNOSTICS others = ROW_COUNT;
    DELETE FROM appstore.import_tokens AS t WHERE t.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    -- 1. Lock in the order of every writer: contracts, posts, users' tokens, orders by token. Sandbox twins of orders are made under an advisory lock, which comes before the rows.
    v_contracts := ARRAY(
        SELECT ROW(c.environment, c.original_transaction_id)::appstore.contract_key FROM appstore.contracts_of(v_user) AS c
        ORDER BY c.environment, c.original_transaction_id);
    PERFORM FROM unnest(v_contracts) AS c (environment, id) CROSS JOIN LATERAL (
        SELECT FROM appstore.contracts AS m WHERE m.original_transaction_id = c.id AND m.environment = c.environment FOR UPDATE
    ) AS locked;
    PERFORM FROM appstore.client_posts AS p WHERE p.user_id = v_user
    ORDER BY p.original_transaction_id, p.environment, p.is_receipt, p.transaction_id FOR UPDATE;
    -- Whose app posted the download of an app: the next user who posts it follows.
    UPDATE appstore.app_transactions AS a SET user_id = NULL, posted_at = NULL, post_event_id = NULL
    WHERE a.ctid = ANY (ARRAY(SELECT a.ctid FROM appstore.app_transactions AS a WHERE a.user_id = v_user
                              ORDER BY a.environment, a.app_transaction_id FOR UPDATE));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    PERFORM pg_advisory_xact_lock(hashtextextended(made.order_no::text, 0))
    FROM (SELECT DISTINCT o.order_no FROM appstore.token_orders AS o WHERE o.user_id = v_user AND o.ordered_at IS NOT NULL
          ORDER BY o.order_no) AS made;
    UPDATE appstore.user_tokens AS u SET user_id = v_alias
    WHERE u.token = ANY (ARRAY(SELECT u.token FROM appstore.user_tokens AS u WHERE u.user_id = v_user ORDER BY u.token FOR UPDATE));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    PERFORM FROM appstore.token_orders AS o WHERE o.user_id = v_user AND o.ordered_at IS NOT NULL
    ORDER BY o.environment, o.order_no FOR UPDATE;

    -- 2. Write the alias. The orders that the shop did not make have it from the claims; effects are found through the contracts.
    SELECT count(*) INTO orders FROM appstore.user_orders AS o WHERE o.user_id = v_user;
    UPDATE appstore.token_orders AS o SET user_id = v_alias WHERE o.user_id = v_user AND o.ordered_at IS NOT NULL;
    UPDATE appstore.effect_log AS e SET user_id = v_alias
    WHERE e.ctid = ANY (ARRAY(
        SELECT e.ctid FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT e.ctid FROM appstore.effect_log AS e
            WHERE e.original_transaction_id = c.id AND e.environment = c.environment AND e.user_id = v_user OFFSET 0
        ) AS e));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    WITH renamed AS (
        UPDATE appstore.owner_links AS l SET user_id = v_alias, note = NULL WHERE l.user_id = v_user
        RETURNING l.environment, l.original_transaction_id, l.linked_at
    ), taken_back AS (
        UPDATE appstore.owner_links AS l SET note = NULL
        FROM renamed
        WHERE l.original_transaction_id = renamed.original_transaction_id AND l.environment = renamed.environment
          AND l.user_id IS NULL AND l.linked_at >= renamed.linked_at
    ), told AS ( -- The audit log has the same notes. There, unlink_owner names the user of the latest link, who may be another one.
        UPDATE appstore.audit_log AS a SET note = NULL
        FROM renamed
        CROSS JOIN LATERAL (
            SELECT DISTINCT l.user_id FROM appstore.owner_links AS l
            WHERE l.original_transaction_id = renamed.original_transaction_id AND l.environment = renamed.environment
              AND l.user_id IS NOT NULL OFFSET 0
        ) AS linked
        WHERE a.details ->> 'user_id' = linked.user_id AND a.details ->> 'original_transaction_id' = renamed.original_transaction_id
          AND a.details ->> 'environment' = renamed.environment::text
          AND (a.action = 'link_owner' AND linked.user_id = v_user OR a.action = 'unlink_owner' AND a.at >= renamed.linked_at)
    )
    SELECT count(*) INTO v_rows FROM renamed;
    others := others + v_rows;
    UPDATE appstore.audit_log AS a SET details = jsonb_set(a.details, '{user_id}', to_jsonb(v_alias)) WHERE a.details ->> 'user_id' = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    -- Consents before the calls of decisions, and calls before decisions, as whatever decides and settles locks them. Nothing more is sent.
    UPDATE appstore.consents AS k
    SET user_id = v_alias, evidence = NULL, withdrawn_at = coalesce(k.withdrawn_at, greatest(clock_timestamp(), k.given_at)),
        withdrawn_by = coalesce(k.withdrawn_by, appstore.actor())
    WHERE k.user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.outbox AS o
    SET payload = '{}', state = CASE o.state WHEN 'open' THEN 'discarded' ELSE o.state END,
        reason = CASE o.state WHEN 'open' THEN 'forgotten' ELSE o.reason END, settled_at = coalesce(o.settled_at, clock_timestamp()),
        is_leased = false
    WHERE o.call_id = ANY (ARRAY( -- OFFSET 0: for the order, the planner would read the calls of all users
        SELECT d.call_id FROM (SELECT d.call_id FROM appstore.consumption_decisions AS d WHERE d.user_id = v_user OFFSET 0) AS d
        WHERE d.call_id IS NOT NULL ORDER BY d.call_id));
    UPDATE appstore.consumption_decisions AS d SET user_id = v_alias, answer.evidence = NULL, answer.details = NULL
    WHERE d.decision_id = ANY (ARRAY(
        SELECT d.decision_id FROM appstore.consumption_decisions AS d WHERE d.user_id = v_user
        UNION -- those that were made before the user was known
        SELECT d.decision_id FROM unnest(v_contracts) AS c (environment, id)
        CROSS JOIN LATERAL (
            SELECT t.transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = c.id AND t.environment = c.environment OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT d.decision_id FROM appstore.consumption_decisions AS d
            WHERE d.transaction_id = t.transaction_id AND d.environment = c.environment AND d.user_id IS NULL OFFSET 0
        ) AS d));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    -- The feed under the lock of its head: the step before it is visible then, and the next one sees the aliases.
    PERFORM FROM appstore.feed_head FOR UPDATE;
    -- What receivers answered about the user, also to what was forwarded as it came.
    UPDATE appstore.delivery_attempts AS a SET answer = NULL
    WHERE a.ctid = ANY (ARRAY(
        SELECT a.ctid
        FROM (SELECT c.id FROM unnest(v_contracts) AS c (environment, id)
              UNION
              SELECT f.subject FROM appstore.feed AS f WHERE f.user_id = v_user
              UNION
              SELECT f.subject FROM appstore.feed AS f WHERE f.from_user_id = v_user) AS c (id)
        CROSS JOIN LATERAL (
            SELECT a.ctid FROM appstore.delivery_attempts AS a WHERE a.subject = c.id AND a.answer IS NOT NULL OFFSET 0
        ) AS a));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.feed AS f SET from_user_id = v_alias WHERE f.from_user_id = v_user;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    UPDATE appstore.feed AS f SET user_id = v_alias WHERE f.user_id = v_user AND f.type <> 'user.forgotten';
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    others := others + v_rows;
    FOREACH v_table IN ARRAY ARRAY['contracts', 'ownership_claims', 'client_posts', 'told_access'] LOOP
        EXECUTE format('UPDATE appstore.%I SET user_id = $2 WHERE user_id = $1', v_table) USING v_user, v_alias;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        others := others + v_rows;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.rename_in_ledger IS
    'Writes an alias for a user into the ledger and the audit log, and returns how many orders and how many other rows it changed. A row that '
    'another transaction writes meanwhile may keep the name: call it until it changes nothing. Only for appstore.forget.';
