CREATE OR REPLACE FUNCTION appstore.set_import_token() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    v_chunk  appstore.import_chunks;
    v_token  appstore.import_tokens;
    v_result text;
BEGIN
    PERFORM appstore.demand_read_committed();
    SELECT c.* INTO v_chunk
    FROM appstore.imports AS r
    CROSS JOIN LATERAL (
        SELECT c.* FROM appstore.import_chunks AS c
        WHERE c.import_id = r.import_id AND c.phase = 'token' ORDER BY c.first_line LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS c
    WHERE r.state = 'running'
    ORDER BY r.import_id LIMIT 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT t.* INTO v_token FROM appstore.import_tokens AS t
    WHERE t.import_id = v_chunk.import_id AND t.line >= v_chunk.first_line AND t.line < v_chunk.end_line AND t.error IS NULL
    ORDER BY t.line LIMIT 1 FOR UPDATE;
    IF FOUND THEN
        -- One in a transaction: another writer may wait for what this one has locked, while the next token would wait for that writer.
        BEGIN
            v_result := appstore.record_user_token(v_token.token, v_token.user_id,
                                                   (SELECT r.made_by FROM appstore.imports AS r WHERE r.import_id = v_token.import_id));
        EXCEPTION WHEN cardinality_violation OR data_exception OR integrity_constraint_violation OR program_limit_exceeded OR plpgsql_error THEN
            -- What the data cause: one line never stops the others.
            v_result := 'database_' || SQLSTATE;
        END;
        IF v_result IN ('set', 'same') THEN
            DELETE FROM appstore.import_tokens AS t WHERE t.import_id = v_token.import_id AND t.line = v_token.line;
        ELSE
            UPDATE appstore.import_tokens AS t
            SET error = CASE v_result WHEN 'order' THEN 'token_of_order' WHEN 'user' THEN 'token_of_another_user' ELSE v_result END
            WHERE t.import_id = v_token.import_id AND t.line = v_token.line;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT FROM appstore.import_tokens AS t
                   WHERE t.import_id = v_chunk.import_id AND t.line >= v_chunk.first_line AND t.line < v_chunk.end_line AND t.error IS NULL) THEN
        PERFORM appstore.end_import_lease(v_chunk.import_id, v_chunk.first_line, v_chunk.epoch, NULL, interval '0', false);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.set_import_token IS
    'Sets the next token of an import that runs, as appstore.set_user_token does, or records why it is refused. With the last token of a chunk '
    'the chunk is due. Returns whether a chunk had tokens to set. Where it fails with 40P01 or 55P03, call it again.';
