-- How settled events are repaired, up to 1,000 in one transaction. Private to the repairs.

CREATE OR REPLACE FUNCTION appstore.repair_outcomes(
    action text, event_ids bigint[], settled_before timestamptz, spread interval, actor text, note text, details jsonb)
RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_ids bigint[];
BEGIN
    -- 1. Lock in the order of the ids, as every writer does: the outcomes, then the bodies, which a requeue needs. Retention and forget
    --    delete bodies of outcomes that they have locked. Each row is looked up by its key, under any statistics.
    v_ids := ARRAY(
        SELECT locked.event_id
        FROM (SELECT DISTINCT id FROM unnest(event_ids) AS id ORDER BY id) AS wanted
        CROSS JOIN LATERAL (
            SELECT o.event_id FROM appstore.outcomes AS o
            -- A query of its own, since the planner would look up the ends of outcomes_by_time to compare a value with.
            WHERE o.event_id = wanted.id AND o.settled_at < (SELECT settled_before)
              AND (action = 'requeue' OR o.result IN ('failed', 'rejected', 'unhandled')) IS TRUE
            FOR UPDATE
        ) AS locked);
    IF action = 'requeue' THEN
        v_ids := ARRAY(
            SELECT locked.event_id FROM unnest(v_ids) AS wanted (id)
            CROSS JOIN LATERAL (SELECT i.event_id FROM appstore.inbox AS i WHERE i.event_id = wanted.id FOR KEY SHARE) AS locked);
    END IF;
    IF v_ids = '{}' THEN
        RETURN v_ids;
    END IF;

    -- 2. The outcomes go into the history.
    INSERT INTO appstore.outcome_history (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
        notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members,
        replaced_at, replaced_by)
    SELECT o.event_id, o.source, o.received_at, o.settled_at, o.run, o.attempts, o.result, o.reason, o.last_error,
           o.notification_type, o.subtype, o.notification_uuid, o.environment, o.bundle_id, o.transaction_id, o.original_transaction_id,
           o.odd_members, clock_timestamp(), actor
    FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);

    -- 3. The events go back into the queue, due one after the other in the order of their arrival; or get the new outcome.
    IF action = 'requeue' THEN
        WITH taken AS (DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids) RETURNING o.event_id, o.run)
        INSERT INTO appstore.inbox_queue (event_id, run_at, bytes, run)
        SELECT t.event_id,
               clock_timestamp() + (row_number() OVER (ORDER BY t.event_id) - 1)::double precision / cardinality(v_ids) * spread,
               i.bytes, t.run + 1
        FROM taken AS t
        CROSS JOIN LATERAL (SELECT octet_length(i.body) AS bytes FROM appstore.inbox AS i WHERE i.event_id = t.event_id OFFSET 0) AS i
        ORDER BY t.event_id;
    ELSE
        UPDATE appstore.outcomes AS o SET run = o.run + 1, settled_at = clock_timestamp(), result = 'discarded', reason = note
        WHERE o.event_id = ANY (v_ids);
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), actor, action, v_ids, note, details);
    RETURN v_ids;
END
$$;
COMMENT ON FUNCTION appstore.repair_outcomes IS
    'Requeues or discards these events, moves their outcomes into the history, and writes one row of the audit log. Takes only outcomes older '
    'than settled_before; a requeue only events with a body, a discard only what was not applied. Requeued events become due one after the '
    'other within spread. Returns the events that it changed, in the order of their ids.';

CREATE OR REPLACE FUNCTION appstore.repair_held(event_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'event % is held by a worker or by another repair; nothing was changed', event_id
        USING HINT = 'Repeat the call when its transaction has ended, usually within seconds.';
    RETURN 0;
END
$$;
COMMENT ON FUNCTION appstore.repair_held IS 'Returns 0 with a notice: the answer for an event that another transaction holds.';
