CREATE OR REPLACE FUNCTION appstore.expire_imports() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off
SET enable_sort = off SET jit = off AS $$
DECLARE
    v_import  appstore.imports;
    v_deleted bigint;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN 0;
    END IF;
    FOR v_import IN
        SELECT r.* FROM appstore.imports AS r
        WHERE r.state = 'loading' AND r.touched_at < clock_timestamp() - interval '1 hour'
           OR appstore.is_expired(r)
        ORDER BY r.import_id FOR UPDATE SKIP LOCKED
    LOOP
        DELETE FROM appstore.import_items AS i
        WHERE i.import_id = v_import.import_id
          AND i.line = ANY (ARRAY(SELECT old.line FROM appstore.import_items AS old WHERE old.import_id = v_import.import_id
                                  ORDER BY old.line LIMIT 5000));
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
        IF v_deleted > 0 THEN
            RETURN v_deleted;
        END IF;
        DELETE FROM appstore.import_tokens AS t
        WHERE t.import_id = v_import.import_id
          AND t.line = ANY (ARRAY(SELECT old.line FROM appstore.import_tokens AS old WHERE old.import_id = v_import.import_id
                                  ORDER BY old.line LIMIT 5000));
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
        IF v_deleted > 0 THEN
            RETURN v_deleted;
        END IF;
        PERFORM appstore.report_import_chunk(c.import_id, c.first_line) FROM appstore.import_chunks AS c WHERE c.import_id = v_import.import_id;
        DELETE FROM appstore.import_chunks AS c WHERE c.import_id = v_import.import_id;
        DELETE FROM appstore.import_links_due AS d WHERE d.import_id = v_import.import_id;
        IF v_import.state = 'loading' THEN
            DELETE FROM appstore.imports AS r WHERE r.import_id = v_import.import_id;
            RETURN 1;
        END IF;
    END LOOP;
    RETURN 0;
END
$$;
COMMENT ON FUNCTION appstore.expire_imports IS
    'Deletes up to 5,000 items or tokens of an import whose file broke off an hour ago, and then the import, or whose end was 90 days ago. Returns how many '
    'rows it deleted.';

CREATE OR REPLACE FUNCTION appstore.is_expired(p_import appstore.imports) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT p_import.ended_at < statement_timestamp() - interval '90 days'
$$;
COMMENT ON FUNCTION appstore.is_expired IS 'Whether the ids of an import may have been deleted, 90 days after its end: it cannot go on.';
