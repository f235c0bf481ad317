-- What became of attempts. An endpoint that works costs the update of its row and a row for each attempt.
CREATE OR REPLACE FUNCTION appstore.settle_deliveries(
    p_name text, p_epoch bigint, p_position bigint /* null */, p_positions bigint[], p_subjects text[], p_results text[], p_attempts integer[],
    p_wait_ms bigint[], p_statuses integer[], p_milliseconds integer[], p_answer_bytes bigint[], p_answers text[], p_errors text[], p_redeliveries bigint[],
    p_failures integer, p_is_failing boolean, p_open_for_ms bigint /* null */, p_probes integer, p_disable_because text /* null */,
    p_redelivered_through bigint[], p_redelivery_ids bigint[])
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_is_on boolean;
    v_first bigint;
    v_order boolean;
    v_head  bigint;
    v_upto  bigint;
BEGIN
    -- 0. The switch and the feed are locked before the endpoint, as by change_endpoint and expire_feed.
    IF p_disable_because IS NOT NULL THEN
        v_is_on := (SELECT s.is_on FROM appstore.feed_switch AS s);
    END IF;
    IF EXISTS (SELECT FROM unnest(p_results, p_answers) AS r (result, answer) WHERE r.result <> 'delivered' OR r.answer IS NOT NULL) THEN
        v_first := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1);
    END IF;
    -- 1. The endpoint. The cursor only moves on, and never beyond the feed, as it could after a failover.
    UPDATE appstore.endpoints AS e
    SET position = greatest(e.position, least(coalesce(p_position, 0), h.position)), failures = p_failures,
        failing_since = CASE WHEN p_is_failing THEN coalesce(e.failing_since, v_now) END,
        open_until = v_now + p_open_for_ms * interval '1 millisecond', probes = p_probes,
        succeeded_at = CASE WHEN 'delivered' = ANY (p_results) THEN v_now ELSE e.succeeded_at END,
        last_error = coalesce((SELECT coalesce(r.error, 'HTTP status ' || r.status)
                               FROM unnest(p_results, p_errors, p_statuses) WITH ORDINALITY AS r (result, error, status, place)
                               WHERE r.result NOT IN ('delivered', 'held') ORDER BY r.place DESC LIMIT 1), e.last_error)
    FROM appstore.feed_head AS h
    WHERE e.name = p_name AND e.epoch = p_epoch
    RETURNING e.keeps_order, h.position, e.open_upto INTO v_order, v_head, v_upto;
    IF NOT FOUND THEN
        RETURN false;
    END IF;

    -- 2. The log. What is answered to the name of a forgotten user would stay after it was forgotten.
    INSERT INTO appstore.delivery_attempts (endpoint, position, subject, at, is_redelivery, result, status, milliseconds, answer_bytes, answer, error)
    SELECT p_name, r.position, r.subject, v_now, r.redelivery IS NOT NULL, r.result, r.status, r.milliseconds, r.answer_bytes,
           CASE WHEN r.answer IS NOT NULL AND NOT EXISTS (SELECT FROM appstore.feed AS f WHERE f.position = r.position AND f.type = 'user.forgotten')
                THEN left(r.answer, 4096) END,
           r.error
    FROM unnest(p_positions, p_subjects, p_results, p_statuses, p_milliseconds, p_answer_bytes, p_answers, p_errors, p_redeliveries)
        AS r (position, subject, result, status, milliseconds, answer_bytes, answer, error, redelivery)
    WHERE r.result <> 'held';

    -- 3. The exceptions: nothing of this where all is new and delivered.
    IF EXISTS (SELECT FROM unnest(p_positions, p_results) AS r (position, result) WHERE r.result <> 'delivered' OR r.position <= v_upto) THEN
        DELETE FROM appstore.open_deliveries AS d
        WHERE d.ctid = ANY (ARRAY(
            SELECT d.ctid FROM unnest(p_positions, p_results) AS r (position, result)
            CROSS JOIN LATERAL (
                SELECT d.ctid FROM appstore.open_deliveries AS d WHERE d.endpoint = p_name AND d.position = r.position OFFSET 0
            ) AS d
            WHERE r.result = 'delivered'));
        -- A redelivery holds nothing, and when it is given up it has been delivered or given up before. What has aged meanwhile stays so.
        INSERT INTO appstore.open_deliveries AS d
            (endpoint, position, subject, run_at, attempts, first_failed_at, last_status, last_error, given_up_at)
        SELECT DISTINCT ON (r.position) p_name, r.position, r.subject,
               CASE WHEN r.result = 'held' AND r.attempts = 0 AND v_order AND r.subject IS NOT NULL THEN 'infinity'
                    ELSE v_now + greatest(r.wait_ms, 0) * interval '1 millisecond' END,
               r.attempts,
               CASE WHEN r.redelivery IS NOT NULL THEN v_now - interval '10 minutes'
                    WHEN r.result <> 'held' OR r.attempts > 0 THEN v_now END,
               r.status, r.error, CASE WHEN r.result = 'given_up' THEN v_now END
        FROM unnest(p_positions, p_subjects, p_results, p_attempts, p_wait_ms, p_statuses, p_errors, p_redeliveries) WITH ORDINALITY
            AS r (position, subject, result, attempts, wait_ms, status, error, redelivery, place)
        WHERE r.position BETWEEN coalesce(v_first, v_head + 1) AND v_head
          AND CASE WHEN r.result = 'given_up' THEN
                       r.redelivery IS NULL
                       OR EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = p_name AND d.position = r.position OFFSET 0)
                   ELSE r.result <> 'delivered' AND r.wait_ms IS NOT NULL END
        ORDER BY r.position, r.place DESC
        ON CONFLICT (endpoint, position) DO UPDATE
        -- What has failed is held for a time: nothing before it would release it.
        SET run_at = CASE WHEN excluded.run_at = 'infinity' AND d.first_failed_at IS NOT NULL THEN v_now + interval '10 minutes'
                          ELSE excluded.run_at END,
            attempts = excluded.attempts, first_failed_at = coalesce(d.first_failed_at, excluded.first_failed_at),
            last_status = CASE WHEN num_nulls(excluded.last_status, excluded.last_error) = 2 THEN d.last_status ELSE excluded.last_status END,
            last_error = CASE WHEN num_nulls(excluded.last_status, excluded.last_error) = 2 THEN d.last_error ELSE excluded.last_error END,
            given_up_at = excluded.given_up_at;
        IF v_order THEN
            PERFORM appstore.release_subject(
                p_name, r.subject,
                bool_or(r.result IN ('delivered', 'given_up') OR r.result <> 'held' AND r.wait_ms IS NOT NULL), v_now)
            FROM unnest(p_subjects, p_results, p_wait_ms) AS r (subject, result, wait_ms)
            WHERE r.subject IS NOT NULL GROUP BY r.subject;
        END IF;
        UPDATE appstore.endpoints AS e
        SET due_from = appstore.first_due(p_name, e.due_from, v_now),
            open_upto = greatest(e.open_upto, (SELECT max(r.position) FROM unnest(p_positions, p_results) AS r (position, result)
                                               WHERE r.result <> 'delivered'))
        WHERE e.name = p_name;
    END IF;

    -- 4. Redeliveries.
    UPDATE appstore.redeliveries AS r
    SET after = greatest(r.after, m.through), sent = r.sent + m.sent, state = CASE WHEN m.through >= r.upto THEN 'done' ELSE r.state END,
        ended_at = CASE WHEN m.through >= r.upto THEN v_now END
    FROM (SELECT moved.id, max(moved.through) AS through, count(*) FILTER (WHERE moved.through IS NULL) AS sent
          FROM (SELECT id, through FROM unnest(p_redelivery_ids, p_redelivered_through) AS t (id, through)
                UNION ALL
                SELECT id, NULL FROM unnest(p_redeliveries) AS t (id)) AS moved
          WHERE moved.id IS NOT NULL GROUP BY moved.id) AS m
    WHERE r.redelivery_id = m.id AND r.endpoint = p_name AND (r.state = 'open') IS TRUE;

    -- 5. The end.
    IF p_disable_because IS NOT NULL THEN
        UPDATE appstore.endpoints AS e SET state = 'disabled', why = p_disable_because, state_since = v_now
        WHERE e.name = p_name AND e.state = 'enabled';
        IF FOUND THEN
            INSERT INTO appstore.tells (kind, ref, told_at) SELECT 'disabled', p_name || ' ' || p_disable_because, v_now WHERE v_is_on;
            PERFORM appstore.audit_endpoint('disable_endpoint', p_name, p_disable_because);
        END IF;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.settle_deliveries IS
    'Records what became of attempts, moves the cursor, unless p_position is null, and writes the state of the breaker. The arrays from '
    'p_positions to p_redeliveries have an element for each report. p_wait_ms: when to try again; null: at no time, or as it was. held: it '
    'waits for an earlier one of its subject, and is no attempt. Returns false, without effect, when the lease of that epoch has been lost. '
    'One element that is wrong, such as an unknown result, fails the whole call.';

CREATE OR REPLACE FUNCTION appstore.release_subject(p_endpoint text, p_subject text, p_is_moved boolean, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_position bigint := appstore.first_waiting(p_endpoint, p_subject);
    v_until    timestamptz;
BEGIN
    IF v_position IS NOT NULL THEN
        v_until := appstore.held_until(p_endpoint, p_subject, v_position, p_now);
        -- Held by what is in flight and has no row: soon, since its end may have been reported before.
        UPDATE appstore.open_deliveries AS d
        SET run_at = coalesce(v_until, CASE WHEN p_is_moved THEN p_now ELSE p_now + interval '5 seconds' END)
        WHERE d.endpoint = p_endpoint AND d.position = v_position AND (p_is_moved OR d.run_at = 'infinity');
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.release_subject IS
    'Makes the first of the entries that wait for a subject due: at once, or when no earlier one that failed holds it. The next one follows when '
    'this one is delivered, has failed or was given up.';
