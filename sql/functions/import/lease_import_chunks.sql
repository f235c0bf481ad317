CREATE OR REPLACE FUNCTION appstore.lease_import_chunks(
    p_bundle_ids text[], p_environments appstore.environment[], p_depths text[], p_slots integer[], p_seconds integer)
RETURNS TABLE (import_id integer, first_line integer, epoch bigint, bundle_id text, environment appstore.environment, depth text, failures integer,
               lines integer[], ids text[], revisions text[], is_given boolean[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now   timestamptz;
    v_lane  record;
    v_chunk appstore.import_chunks;
    v_left  integer;
    v_made  integer;
BEGIN
    FOR v_lane IN
        SELECT l.* FROM unnest(p_bundle_ids, p_environments, p_depths, p_slots) AS l (bundle_id, environment, depth, slots)
        WHERE l.slots > 0 ORDER BY 1, 2, 3
    LOOP
        v_left := v_lane.slots;
        v_made := 0;
        WHILE v_left > 0 LOOP
            -- 1. A chunk that is due, of the oldest import first.
            v_now := clock_timestamp();
            SELECT c.* INTO v_chunk
            FROM appstore.imports AS r
            CROSS JOIN LATERAL (
                SELECT c.* FROM appstore.import_chunks AS c
                WHERE c.import_id = r.import_id AND c.run_at <= v_now AND c.environment = v_lane.environment AND c.phase <> 'link'
                ORDER BY c.run_at LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS c
            WHERE r.bundle_id = v_lane.bundle_id AND r.depth = v_lane.depth AND r.state = 'running'
            ORDER BY r.import_id LIMIT 1;
            IF NOT FOUND THEN
                -- 2. Or the next lines. They may belong to another lane, which finds them due. Most belong to Production: Sandbox makes none
                --    while some of these are left.
                v_made := v_made + 1;
                EXIT WHEN v_made > v_lane.slots OR (v_lane.environment = 'Sandbox' AND EXISTS (
                    SELECT FROM appstore.imports AS r
                    CROSS JOIN LATERAL (
                        SELECT FROM appstore.import_chunks AS c
                        WHERE c.import_id = r.import_id AND c.run_at <= v_now AND c.environment = 'Production' AND c.phase <> 'link' LIMIT 1
                    ) AS c
                    WHERE r.bundle_id = v_lane.bundle_id AND r.depth = v_lane.depth AND r.state = 'running'));
                v_chunk := appstore.make_import_chunk(v_lane.bundle_id, v_lane.environment, v_lane.depth);
                EXIT WHEN v_chunk.import_id IS NULL;
                CONTINUE;
            END IF;
            UPDATE appstore.import_chunks AS c
            SET epoch = c.epoch + 1, is_leased = true, run_at = v_now + make_interval(secs => p_seconds),
                -- A silence in which it was not asked is none.
                silent_since = CASE WHEN v_chunk.run_at > v_now - interval '1 day' THEN c.silent_since END
            WHERE c.import_id = v_chunk.import_id AND c.first_line = v_chunk.first_line;
            v_left := v_left - 1;
            -- 3. Its items. A file's revision is asked from before one of an earlier import.
            RETURN QUERY
            SELECT v_chunk.import_id, v_chunk.first_line, v_chunk.epoch + 1, v_lane.bundle_id, v_lane.environment, v_lane.depth, v_chunk.failures,
                   array_agg(i.line ORDER BY i.line), array_agg(i.id ORDER BY i.line),
                   array_agg(coalesce(i.revision, k.revision) ORDER BY i.line), array_agg(i.is_given ORDER BY i.line)
            FROM appstore.import_items AS i
            LEFT JOIN LATERAL (
                SELECT k.revision FROM appstore.customer_revisions AS k
                WHERE k.original_transaction_id = i.id AND k.environment = i.environment AND v_lane.depth = 'history' OFFSET 0
            ) AS k ON true
            WHERE i.import_id = v_chunk.import_id AND i.line >= v_chunk.first_line AND i.line < v_chunk.end_line
              AND i.environment = v_chunk.environment
              AND i.state = CASE v_chunk.phase WHEN 'again' THEN 'again' ELSE 'open' END::appstore.import_item_state
            HAVING count(*) > 0;
            IF NOT FOUND THEN -- an answer about other items has covered all of them
                PERFORM appstore.end_import_lease(v_chunk.import_id, v_chunk.first_line, v_chunk.epoch + 1, NULL, interval '0', false);
            END IF;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.lease_import_chunks IS
    'Leases chunks of running imports of these apps, environments and depths, up to p_slots of each, with the items to ask. A '
    'lease that has expired is due.';

CREATE OR REPLACE FUNCTION appstore.make_import_chunk(p_bundle_id text, p_environment appstore.environment, p_depth text)
RETURNS appstore.import_chunks
LANGUAGE plpgsql AS $$
DECLARE
    v_import appstore.imports;
    v_chunk  appstore.import_chunks;
BEGIN
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.bundle_id = p_bundle_id AND r.depth = p_depth AND r.state = 'running' AND r.next_line <= r.last_line
      AND coalesce(r.environment, p_environment) = p_environment
      -- While their tokens are set, chunks are not due: no more of them are made than a worker asks at once.
      AND (SELECT count(*) FROM (SELECT FROM appstore.import_chunks AS c WHERE c.import_id = r.import_id AND c.phase = 'token' LIMIT 16) AS c) < 16
    ORDER BY r.import_id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- A short file is cut into more parts, which are asked in parallel.
    INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, environment)
    VALUES (v_import.import_id, v_import.next_line, v_import.next_line + least(200, greatest(5, v_import.last_line / 50)), 'ask', 'Production')
    RETURNING * INTO v_chunk;
    UPDATE appstore.imports AS r SET next_line = v_chunk.end_line WHERE r.import_id = v_import.import_id;
    PERFORM appstore.end_import_lease(v_chunk.import_id, v_chunk.first_line, 0, NULL, interval '0', false);
    RETURN v_chunk;
END
$$;
COMMENT ON FUNCTION appstore.make_import_chunk IS
    'Makes a chunk of the next lines of an app''s oldest import that has lines left and may be asked in this environment; null where none has.';

CREATE OR REPLACE FUNCTION appstore.end_import_lease(
    p_import_id integer, p_first_line integer, p_epoch bigint, p_reason text /* null */, p_delay interval, p_counts boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_chunk appstore.import_chunks;
    v_items record;
    v_token boolean;
    v_phase text;
BEGIN
    SELECT c.* INTO v_chunk FROM appstore.import_chunks AS c
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line AND c.epoch = p_epoch FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT count(*) FILTER (WHERE i.state = 'open') AS open, count(*) FILTER (WHERE i.state = 'again') AS again,
           count(*) FILTER (WHERE i.state IN ('found', 'covered') AND i.user_id IS NOT NULL AND i.reason IS NULL) AS unlinked,
           bool_or(i.state = 'open' AND i.environment = 'Production') AS open_in_production,
           bool_or(i.state = 'again' AND i.environment = 'Production') AS again_in_production,
           bool_or(i.state IN ('open', 'again') AND i.environment = v_chunk.environment) AS is_left
    INTO v_items
    FROM appstore.import_items AS i
    WHERE i.import_id = p_import_id AND i.line >= p_first_line AND i.line < v_chunk.end_line;
    v_token := EXISTS (SELECT FROM appstore.import_tokens AS t
                       WHERE t.import_id = p_import_id AND t.line >= p_first_line AND t.line < v_chunk.end_line AND t.error IS NULL);
    v_phase := CASE WHEN v_token THEN 'token' WHEN v_items.open > 0 THEN 'ask' WHEN v_items.again > 0 THEN 'again' WHEN v_items.unlinked > 0 THEN 'link' END;
    IF v_phase IS NULL THEN
        PERFORM appstore.remove_import_chunk(v_chunk);
        RETURN true;
    END IF;
    -- A day is begun once: asked again, a chunk stays in this phase.
    UPDATE appstore.import_chunks AS c
    SET phase = v_phase, waiting = v_items.again, is_leased = false,
        last_error = CASE WHEN v_phase = c.phase THEN p_reason END, silent_since = CASE WHEN v_phase = c.phase THEN c.silent_since END,
        link_at = CASE WHEN v_items.unlinked > 0 THEN least(c.link_at, v_now) END,
        failures = CASE WHEN p_reason IS NULL AND NOT p_counts THEN 0 ELSE c.failures + p_counts::integer END,
        environment = CASE WHEN CASE v_phase WHEN 'again' THEN v_items.again_in_production ELSE v_items.open_in_production END
                           THEN 'Production' ELSE 'Sandbox' END::appstore.environment,
        run_at = CASE WHEN v_phase = 'token' THEN 'infinity'
                      WHEN v_phase = 'again' AND c.phase <> 'again' THEN v_now + interval '1 day'
                      WHEN v_items.is_left THEN v_now + p_delay ELSE v_now END
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line;
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.end_import_lease IS
    'Ends a lease: the chunk is due again after p_delay where items of its environment are left, a day later where only those are that Apple did not '
    'know; it is removed when all are settled and no user waits. With p_counts it is a failure. False when another lease has begun.';

CREATE OR REPLACE FUNCTION appstore.remove_import_chunk(p_chunk appstore.import_chunks) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM appstore.report_import_chunk(p_chunk.import_id, p_chunk.first_line);
    DELETE FROM appstore.import_chunks AS c WHERE c.import_id = p_chunk.import_id AND c.first_line = p_chunk.first_line;
    DELETE FROM appstore.import_links_due AS d WHERE d.import_id = p_chunk.import_id AND d.first_line = p_chunk.first_line;
    -- Under the lock of the import: the last chunk sees that there is no other.
    PERFORM FROM appstore.imports AS r WHERE r.import_id = p_chunk.import_id FOR UPDATE;
    PERFORM appstore.end_import(p_chunk.import_id);
END
$$;
COMMENT ON FUNCTION appstore.remove_import_chunk IS 'Deletes a chunk that is over, and ends its import with the last one.';

CREATE OR REPLACE FUNCTION appstore.end_import(p_import_id integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE appstore.imports AS r SET state = 'done', ended_at = clock_timestamp()
    WHERE r.import_id = p_import_id AND r.state = 'running' AND r.next_line > r.last_line
      AND NOT EXISTS (SELECT FROM appstore.import_chunks AS c WHERE c.import_id = p_import_id);
END
$$;
COMMENT ON FUNCTION appstore.end_import IS
    'An import that runs is done when its lines have been cut into chunks and none of these is left. Call it under the lock of the import.';

CREATE OR REPLACE FUNCTION appstore.report_import_chunk(p_import_id integer, p_first_line integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_now     timestamptz := clock_timestamp();
    v_chunk   appstore.import_chunks;
    v_settled integer;
BEGIN
    SELECT c.* INTO STRICT v_chunk FROM appstore.import_chunks AS c WHERE c.import_id = p_import_id AND c.first_line = p_first_line FOR UPDATE;
    UPDATE appstore.import_chunks AS c SET found = 0, covered = 0, unknown = 0, failed = 0, reported_at = v_now
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line;
    UPDATE appstore.imports AS r
    SET found = r.found + v_chunk.found, covered = r.covered + v_chunk.covered, unknown = r.unknown + v_chunk.unknown,
        failed = r.failed + v_chunk.failed
    WHERE r.import_id = p_import_id;
    v_settled := v_chunk.found + v_chunk.covered + v_chunk.unknown + v_chunk.failed;
    IF v_settled > 0 THEN
        INSERT INTO appstore.import_rates AS k (import_id, at, settled)
        VALUES (p_import_id, date_bin('10 seconds', v_now, 'epoch'), v_settled)
        ON CONFLICT (import_id, at) DO UPDATE SET settled = k.settled + excluded.settled;
        DELETE FROM appstore.import_rates AS k WHERE k.import_id = p_import_id AND k.at < v_now - interval '20 minutes';
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.report_import_chunk IS 'Adds the numbers of a chunk to its import, and to the rate.';
