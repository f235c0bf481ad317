CREATE OR REPLACE FUNCTION appstore.settle_import_item(
    p_import_id integer, p_first_line integer, p_epoch bigint, p_line integer, p_bodies bytea[], p_contracts text[],
    p_revision text /* null */, p_has_more boolean, p_seconds integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    v_chunk  appstore.import_chunks;
    v_import appstore.imports;
    v_item   appstore.import_items;
    v_lines  integer[];
    v_events record;
    v_covers integer;
BEGIN
    v_chunk := appstore.renew_import_lease(p_import_id, p_first_line, p_epoch, p_seconds, true);
    IF v_chunk.import_id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT r.* INTO v_import FROM appstore.imports AS r WHERE r.import_id = p_import_id;
    -- 1. Lock the item and those that the answer covers, in one order. IS TRUE keeps the planner from a search among all lines.
    v_lines := ARRAY(
        SELECT i.line FROM unnest(p_contracts) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT i.line FROM appstore.import_items AS i WHERE i.id = contract.id AND (i.import_id = p_import_id) IS TRUE OFFSET 0
        ) AS i
        UNION SELECT p_line);
    PERFORM FROM appstore.import_items AS i WHERE i.import_id = p_import_id AND i.line = ANY (v_lines) ORDER BY i.line FOR UPDATE;
    SELECT i.* INTO v_item FROM appstore.import_items AS i WHERE i.import_id = p_import_id AND i.line = p_line;
    IF v_item.state NOT IN ('open', 'again') THEN
        RETURN 'settled'; -- the answer about another item was first
    END IF;
    -- 2. The events.
    SELECT min(s.id) AS first, max(s.id) AS last INTO v_events
    FROM appstore.store(CASE v_import.depth WHEN 'statuses' THEN 'imported_status' ELSE 'imported_transaction' END, p_bodies) AS s (id);
    -- 3. The items.
    UPDATE appstore.import_items AS i
    SET state = CASE WHEN p_has_more THEN i.state ELSE 'found' END, event_id = least(i.event_id, v_events.first),
        last_event_id = greatest(i.last_event_id, v_events.last), asked = least(i.asked + 1, 32767), failures = 0,
        revision = CASE WHEN p_has_more THEN p_revision END,
        reason = CASE WHEN v_import.depth = 'statuses' AND i.user_id IS NOT NULL AND cardinality(p_contracts) > 1
                           AND i.id <> ALL (p_contracts) THEN 'contract_unclear' END
    WHERE i.import_id = p_import_id AND i.line = p_line;
    WITH covered AS (
        UPDATE appstore.import_items AS i
        SET state = 'covered', event_id = least(i.event_id, v_events.first), last_event_id = greatest(i.last_event_id, v_events.last),
            environment = v_item.environment, revision = NULL, reason = NULL
        WHERE i.import_id = p_import_id AND i.line = ANY (v_lines) AND i.line <> p_line AND i.state IN ('open', 'again')
          AND (i.environment = v_item.environment OR NOT i.is_given)
        RETURNING i.line
    )
    SELECT count(*), array_agg(covered.line) || p_line INTO v_covers, v_lines FROM covered;
    -- 4. Their chunks make their users owners, between two leases. To wait for a chunk could be a deadlock: items of one that is locked are noted.
    WITH item AS MATERIALIZED (
        SELECT i.line, k.first_line
        FROM (SELECT i.line FROM appstore.import_items AS i
              WHERE i.import_id = p_import_id AND i.line = ANY (v_lines) AND i.state IN ('found', 'covered') AND i.user_id IS NOT NULL
                AND i.reason IS NULL OFFSET 0) AS i
        CROSS JOIN LATERAL (
            SELECT k.first_line FROM appstore.import_chunks AS k
            WHERE k.import_id = p_import_id AND k.first_line BETWEEN i.line - 199 AND i.line AND k.end_line > i.line OFFSET 0
        ) AS k
    ), locked AS MATERIALIZED (
        SELECT k.first_line, k.link_at FROM (SELECT DISTINCT item.first_line FROM item) AS chunk
        CROSS JOIN LATERAL (
            SELECT k.first_line, k.link_at FROM appstore.import_chunks AS k
            WHERE k.import_id = p_import_id AND k.first_line = chunk.first_line FOR UPDATE SKIP LOCKED
        ) AS k
    ), due AS (
        UPDATE appstore.import_chunks AS c SET link_at = clock_timestamp() + interval '10 seconds'
        WHERE c.import_id = p_import_id AND c.first_line = ANY (ARRAY(SELECT locked.first_line FROM locked WHERE locked.link_at IS NULL))
    )
    INSERT INTO appstore.import_links_due (import_id, first_line, line)
    SELECT p_import_id, item.first_line, item.line FROM item WHERE item.first_line <> ALL (ARRAY(SELECT locked.first_line FROM locked));
    -- 5. Until where a history was read.
    IF v_import.depth = 'history' AND p_revision IS NOT NULL THEN
        INSERT INTO appstore.customer_revisions AS k (environment, original_transaction_id, revision)
        SELECT v_item.environment, known.id, p_revision FROM (SELECT unnest(p_contracts) AS id UNION SELECT v_item.id) AS known
        ORDER BY known.id COLLATE "C"
        ON CONFLICT (original_transaction_id, environment) DO UPDATE SET revision = excluded.revision;
    END IF;
    PERFORM appstore.count_in_import_chunk(v_chunk, CASE WHEN p_has_more THEN 0 ELSE 1 END, v_covers, 0, 0);
    RETURN CASE WHEN v_import.state <> 'running' THEN 'stop' WHEN p_has_more THEN 'more' ELSE 'settled' END;
END
$$;
COMMENT ON FUNCTION appstore.settle_import_item IS
    'Stores an answer about an item: an event for each of p_bodies. Settles the item, unless it has more pages, from p_revision on; and all items of '
    'the import that are among p_contracts. Renews the lease. Returns more, settled, or stop where the import no longer runs; null when another lease '
    'has begun.';

CREATE OR REPLACE FUNCTION appstore.miss_import_item(
    p_import_id integer, p_first_line integer, p_epoch bigint, p_line integer, p_reason text /* null */, p_at_most integer,
    p_seconds integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    v_chunk appstore.import_chunks;
    v_item  appstore.import_items;
BEGIN
    v_chunk := appstore.renew_import_lease(p_import_id, p_first_line, p_epoch, p_seconds, CASE WHEN p_reason IS NULL THEN true END);
    IF v_chunk.import_id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT i.* INTO v_item FROM appstore.import_items AS i
    WHERE i.import_id = p_import_id AND i.line = p_line AND i.state IN ('open', 'again') FOR UPDATE;
    IF FOUND THEN
        v_item.failures := CASE WHEN p_reason IS NULL THEN 0 WHEN v_item.reason = p_reason THEN v_item.failures + 1 ELSE 1 END;
        v_item.reason := p_reason;
        IF p_reason IS NOT NULL THEN
            v_item.state := CASE WHEN v_item.failures >= p_at_most THEN 'failed' ELSE v_item.state END;
        ELSIF v_item.environment = 'Production' AND NOT v_item.is_given THEN
            v_item.environment := 'Sandbox';
        ELSE
            v_item.state := CASE v_item.state WHEN 'open' THEN 'again' ELSE 'unknown_to_apple' END;
            v_item.environment := CASE WHEN v_item.is_given THEN v_item.environment ELSE 'Production' END;
        END IF;
        UPDATE appstore.import_items AS i
        SET asked = least(i.asked + 1, 32767), failures = v_item.failures, reason = v_item.reason, state = v_item.state, environment = v_item.environment
        WHERE i.import_id = p_import_id AND i.line = p_line;
        PERFORM appstore.count_in_import_chunk(
            v_chunk, 0, 0, CASE v_item.state WHEN 'unknown_to_apple' THEN 1 ELSE 0 END, CASE v_item.state WHEN 'failed' THEN 1 ELSE 0 END);
    END IF;
    RETURN CASE (SELECT r.state FROM appstore.imports AS r WHERE r.import_id = p_import_id) WHEN 'running' THEN 'settled' ELSE 'stop' END;
END
$$;
COMMENT ON FUNCTION appstore.miss_import_item IS
    'Records that a request about an item brought no answer. Without a reason Apple knows no such id: it is asked in Sandbox where no environment was '
    'given, and once more a day later. With a reason the request failed; for the p_at_most-th time in a row the item does. Returns as settle_import_item.';

CREATE OR REPLACE FUNCTION appstore.renew_import_lease(p_import_id integer, p_first_line integer, p_epoch bigint, p_seconds integer, p_is_answered boolean)
RETURNS appstore.import_chunks
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET jit = off AS $$
DECLARE
    v_chunk appstore.import_chunks;
BEGIN
    PERFORM appstore.demand_read_committed();
    UPDATE appstore.import_chunks AS c
    SET run_at = clock_timestamp() + make_interval(secs => p_seconds), failures = CASE WHEN p_is_answered THEN 0 ELSE c.failures END,
        silent_since = CASE WHEN p_is_answered THEN NULL WHEN NOT p_is_answered THEN coalesce(c.silent_since, clock_timestamp())
                            ELSE c.silent_since END
    WHERE c.import_id = p_import_id AND c.first_line = p_first_line AND c.epoch = p_epoch AND c.is_leased
    RETURNING c.* INTO v_chunk;
    RETURN v_chunk;
END
$$;
COMMENT ON FUNCTION appstore.renew_import_lease IS
    'Locks a chunk and renews its lease; null when another one has begun. An answer ends its failures and its silence, a request without an answer '
    'begins its silence; with null for p_is_answered neither does.';

CREATE OR REPLACE FUNCTION appstore.count_in_import_chunk(
    p_chunk appstore.import_chunks, p_found integer, p_covered integer, p_unknown integer, p_failed integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_found + p_covered + p_unknown + p_failed = 0 THEN
        RETURN;
    END IF;
    UPDATE appstore.import_chunks AS c
    SET found = c.found + p_found, covered = c.covered + p_covered, unknown = c.unknown + p_unknown, failed = c.failed + p_failed
    WHERE c.import_id = p_chunk.import_id AND c.first_line = p_chunk.first_line;
    -- Not with each item: all workers would wait for the row of the import.
    IF p_chunk.reported_at < clock_timestamp() - interval '5 seconds' THEN
        PERFORM appstore.report_import_chunk(p_chunk.import_id, p_chunk.first_line);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.count_in_import_chunk IS 'Counts settled items, and reports them to the import every five seconds.';
