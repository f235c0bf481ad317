CREATE OR REPLACE FUNCTION appstore.link_import_owners() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_chunk  appstore.import_chunks;
    v_import appstore.imports;
    v_item   record;
    v_reason text;
    v_waits  boolean := false;
BEGIN
    -- 1. A chunk. One that is leased would let its worker wait for the contracts.
    SELECT c.* INTO v_chunk FROM appstore.import_links_due AS d
    CROSS JOIN LATERAL (
        SELECT c.* FROM appstore.import_chunks AS c
        WHERE c.import_id = d.import_id AND c.first_line = d.first_line AND NOT (c.is_leased AND c.run_at > clock_timestamp())
        FOR UPDATE SKIP LOCKED
    ) AS c
    LIMIT 1;
    IF NOT FOUND THEN
        SELECT c.* INTO v_chunk FROM appstore.import_chunks AS c
        WHERE c.link_at <= clock_timestamp() AND NOT (c.is_leased AND c.run_at > clock_timestamp()) ORDER BY c.link_at LIMIT 1
        FOR UPDATE SKIP LOCKED;
    END IF;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Before its items are read: what is covered later is another row.
    DELETE FROM appstore.import_links_due AS d WHERE d.import_id = v_chunk.import_id AND d.first_line = v_chunk.first_line;
    SELECT r.* INTO v_import FROM appstore.imports AS r WHERE r.import_id = v_chunk.import_id;
    -- 2. Each user, and the contract of the id: the id is that contract, or a transaction of it in the ledger, or its answer had no other one.
    FOR v_item IN
        WITH item AS MATERIALIZED (
            SELECT i.line, i.id, i.environment, i.user_id, i.event_id, i.last_event_id FROM appstore.import_items AS i
            WHERE i.import_id = v_chunk.import_id AND i.line >= v_chunk.first_line AND i.line < v_chunk.end_line
              AND i.state IN ('found', 'covered') AND i.user_id IS NOT NULL AND i.reason IS NULL
            ORDER BY i.line FOR UPDATE
        ), waiting AS MATERIALIZED ( -- each answer once: while a snapshot is held, it costs all that was settled in its range
            SELECT answer.event_id, answer.last_event_id FROM (SELECT DISTINCT item.event_id, item.last_event_id FROM item) AS answer
            CROSS JOIN LATERAL ( -- events of others among them only delay it
                SELECT FROM appstore.inbox_queue AS q WHERE q.event_id BETWEEN answer.event_id AND answer.last_event_id LIMIT 1
            ) AS q
        )
        SELECT item.line, item.environment, item.user_id,
               EXISTS (SELECT FROM waiting AS w WHERE w.event_id = item.event_id AND w.last_event_id = item.last_event_id) AS is_waiting,
               CASE WHEN appstore.is_known_purchase(item.environment, item.id, ARRAY[v_import.bundle_id]) THEN item.id
                    ELSE coalesce(t.original_transaction_id, o.original_transaction_id) END AS contract
        FROM item
        LEFT JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.transaction_id = item.id AND t.environment = item.environment AND t.bundle_id = v_import.bundle_id OFFSET 0
        ) AS t ON true
        LEFT JOIN LATERAL (
            SELECT o.original_transaction_id FROM appstore.outcomes AS o
            WHERE o.event_id = item.event_id AND item.event_id = item.last_event_id AND v_import.depth = 'statuses' OFFSET 0
        ) AS o ON true
        ORDER BY item.environment, 5, item.line -- contracts in the order in which a merge locks them
    LOOP
        IF v_item.is_waiting THEN
            v_waits := true;
            CONTINUE;
        END IF;
        BEGIN
            v_reason := appstore.link_import_owner(v_import, v_item.environment, v_item.contract, v_item.user_id);
        EXCEPTION WHEN cardinality_violation OR data_exception OR integrity_constraint_violation OR program_limit_exceeded OR plpgsql_error THEN
            -- What the data cause: one line never stops the others.
            v_reason := 'database_' || SQLSTATE;
        END;
        UPDATE appstore.import_items AS i SET user_id = CASE WHEN v_reason IS NOT NULL THEN i.user_id END, reason = v_reason
        WHERE i.import_id = v_chunk.import_id AND i.line = v_item.line;
    END LOOP;
    -- 3. The chunk.
    IF v_chunk.phase = 'link' AND NOT v_waits THEN
        PERFORM appstore.remove_import_chunk(v_chunk);
    ELSE
        UPDATE appstore.import_chunks AS c SET link_at = CASE WHEN v_waits THEN clock_timestamp() + interval '2 seconds' END
        WHERE c.import_id = v_chunk.import_id AND c.first_line = v_chunk.first_line;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.link_import_owners IS
    'Makes the users of a chunk owners, where the events of their items have left the queue, whatever the state of the import. Returns whether a '
    'chunk was due that is not leased. Where it fails with 40P01 or 55P03, call it again.';

CREATE OR REPLACE FUNCTION appstore.link_import_owner(
    p_import appstore.imports, p_environment appstore.environment, p_contract text, p_user_id text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF p_contract IS NULL OR NOT appstore.is_known_purchase(p_environment, p_contract, ARRAY[p_import.bundle_id]) THEN
        RETURN 'not_linked';
    END IF;
    PERFORM appstore.lock_for_link(p_environment, p_contract);
    -- Of two lines of one contract the first one that comes here counts.
    IF NOT EXISTS (SELECT FROM appstore.owner_links AS l
                   WHERE l.original_transaction_id = p_contract AND l.environment = p_environment AND l.import_id = p_import.import_id) THEN
        PERFORM appstore.record_owner_link(p_environment, p_contract, p_user_id, p_import.made_at, p_import.made_by,
                                           'import ' || p_import.import_id, p_import.import_id);
    END IF;
    RETURN CASE WHEN NOT EXISTS (
        SELECT FROM appstore.ownership_claims AS c
        WHERE c.original_transaction_id = p_contract AND c.environment = p_environment AND c.user_id = p_user_id) THEN 'not_owner' END;
END
$$;
COMMENT ON FUNCTION appstore.link_import_owner IS
    'Links a user of an import to a contract, and returns why the user is no owner: null, not_linked where no such purchase is known, or not_owner.';
