CREATE FUNCTION appstore.link_import_owners() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    v_chunk  appstore.import_chunks;
    v_import appstore.imports;
    v_item   record;
    v_waits  boolean := false;
BEGIN
    SELECT c.* INTO v_chunk FROM appstore.import_chunks AS c
    WHERE c.phase = 'link' AND c.run_at <= clock_timestamp()
      AND EXISTS (SELECT FROM appstore.imports AS r WHERE r.import_id = c.import_id AND r.state = 'running' OFFSET 0)
    ORDER BY c.run_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT r.* INTO v_import FROM appstore.imports AS r WHERE r.import_id = v_chunk.import_id;
    FOR v_item IN
        WITH item AS MATERIALIZED (
            SELECT i.line, i.id, i.environment, i.user_id, i.event_id FROM appstore.import_items AS i
            WHERE i.import_id = v_chunk.import_id AND i.line >= v_chunk.first_line AND i.line < v_chunk.end_line
              AND i.state IN ('found', 'covered') AND i.user_id IS NOT NULL AND i.reason IS NULL
            ORDER BY i.line FOR UPDATE
        )
        SELECT item.line, item.environment, item.user_id, item.event_id IS NOT NULL AND o.event_id IS NULL AS is_waiting,
               CASE WHEN appstore.is_known_purchase(item.environment, item.id, ARRAY[v_import.bundle_id]) THEN item.id
                    ELSE coalesce(t.original_transaction_id, o.original_transaction_id) END AS contract
        FROM item
        LEFT JOIN LATERAL (
            SELECT o.event_id, o.original_transaction_id FROM appstore.outcomes AS o WHERE o.event_id = item.event_id OFFSET 0
        ) AS o ON true
        LEFT JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.transaction_id = item.id AND t.environment = item.environment AND t.bundle_id = v_import.bundle_id OFFSET 0
        ) AS t ON true
        ORDER BY item.environment, 5, item.line -- contracts in the order in which a merge locks them
    LOOP
        IF v_item.is_waiting THEN
            v_waits := true;
        ELSIF v_item.contract IS NULL
              OR NOT appstore.is_known_purchase(v_item.environment, v_item.contract, ARRAY[v_import.bundle_id]) THEN
            UPDATE appstore.import_items AS i SET reason = 'not_linked' WHERE i.import_id = v_chunk.import_id AND i.line = v_item.line;
        ELSE
            PERFORM appstore.lock_for_link(v_item.environment, v_item.contract);
            PERFORM appstore.record_owner_link(v_item.environment, v_item.contract, v_item.user_id, v_import.made_at, v_import.made_by,
                                               'import ' || v_import.import_id, v_import.import_id);
            UPDATE appstore.import_items AS i SET user_id = NULL WHERE i.import_id = v_chunk.import_id AND i.line = v_item.line;
        END IF;
    END LOOP;
    RETURN appstore.end_import_lease(v_chunk.import_id, v_chunk.first_line, v_chunk.epoch, NULL,
                                     CASE WHEN v_waits THEN interval '2 seconds' ELSE '0' END, false);
END
$$;
COMMENT ON FUNCTION appstore.link_import_owners IS
    'Makes the users of a chunk owners, where the events of their items have an outcome. Returns whether a chunk was due. Where it fails with 40P01 '
    'or 55P03, call it again.';
