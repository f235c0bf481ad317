-- Repairs of any size: up to 1,000 events at once, more by a request that the worker carries out in steps.

-- What a repair is about; a null condition fits everything.
CREATE TYPE appstore.repair_filter AS (
    outcome           text,
    reason            text,
    notification_type text,
    subtype           text,
    environment       text,
    bundle_id         text,
    received_from     timestamptz,
    received_before   timestamptz
);

-- Requests for repairs of more events than one transaction should touch. The worker walks the outcomes by event id and keeps its place
-- here, in the transaction that repairs: a crash at any point repeats nothing and skips nothing. An event is taken at most once, for the
-- walk never goes back, and only if its outcome is older than the request.
CREATE TABLE appstore.repairs (
    repair_id       bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action          text        NOT NULL,
    filter          jsonb       NOT NULL,
    note            text,                   -- of a discard: the reason that its outcomes get
    requested_at    timestamptz NOT NULL,
    requested_by    text        NOT NULL,
    events_expected bigint      NOT NULL,   -- how many fitted when it was requested
    last_event_id   bigint      NOT NULL,   -- the walk ends here
    -- Progress.
    state           text        NOT NULL DEFAULT 'requested',
    walked_to       bigint      NOT NULL DEFAULT 0,
    events_repaired bigint      NOT NULL DEFAULT 0,
    steps           integer     NOT NULL DEFAULT 0,
    started_at      timestamptz,
    next_step_at    timestamptz NOT NULL,
    pace            interval    NOT NULL DEFAULT '1 second', -- over which the events of a whole step are spread
    finished_at     timestamptz,
    stopped_by      text,
    failures        integer     NOT NULL DEFAULT 0,          -- since the last step that succeeded
    error           text,
    CONSTRAINT repairs_action_is_known CHECK (action IN ('requeue', 'discard')),
    CONSTRAINT repairs_state_is_known CHECK (state IN ('requested', 'running', 'done', 'stopped', 'failed')),
    CONSTRAINT repairs_discard_says_why CHECK (action <> 'discard' OR btrim(note) <> ''),
    CONSTRAINT repairs_finished_when_over CHECK ((state IN ('done', 'stopped', 'failed')) = (finished_at IS NOT NULL)),
    CONSTRAINT repairs_stopped_by_somebody CHECK ((state = 'stopped') = (stopped_by IS NOT NULL)),
    CONSTRAINT repairs_failed_with_error CHECK (state <> 'failed' OR error IS NOT NULL)
);
-- What the worker asks for every second.
CREATE INDEX repairs_unfinished ON appstore.repairs (next_step_at) WHERE state IN ('requested', 'running');

-- Whether an outcome is one that a filter is about. PostgreSQL writes it into the query around it, where null conditions vanish.
CREATE FUNCTION appstore.fits(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (f.outcome IS NULL OR o.result = f.outcome)
       AND (f.reason IS NULL OR o.reason = f.reason)
       AND (f.notification_type IS NULL OR o.notification_type = f.notification_type)
       AND (f.subtype IS NULL OR o.subtype = f.subtype)
       AND (f.environment IS NULL OR o.environment = f.environment)
       AND (f.bundle_id IS NULL OR o.bundle_id = f.bundle_id)
       AND (f.received_from IS NULL OR o.received_at >= f.received_from)
       AND (f.received_before IS NULL OR o.received_at < f.received_before)
$$;

-- The conditions as a filter; refuses none at all, and outcomes that do not exist.
CREATE FUNCTION appstore.repair_conditions(
    outcome text, reason text, notification_type text, subtype text, environment text, bundle_id text, received_from timestamptz,
    received_before timestamptz)
RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_filter jsonb := jsonb_strip_nulls(jsonb_build_object(
        'outcome', outcome, 'reason', reason, 'notification_type', notification_type, 'subtype', subtype, 'environment', environment,
        'bundle_id', bundle_id, 'received_from', received_from, 'received_before', received_before));
BEGIN
    IF v_filter = '{}' THEN
        RAISE EXCEPTION 'name at least one condition: outcome, reason, notification_type, subtype, environment, bundle_id, '
                        'received_from, received_before'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF outcome NOT IN ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected', 'failed', 'discarded') THEN
        RAISE EXCEPTION 'outcome % is none of applied, superseded, no_effect, duplicate, unhandled, rejected, failed, discarded',
            quote_literal(outcome) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN v_filter;
END
$$;

-- How many events a repair would take now. A discard takes only what has not been applied; a requeue only what still has its body, which
-- is looked at when it is taken.
CREATE FUNCTION appstore.count_repair(action text, filter jsonb, max_events bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_variable
DECLARE
    v_filter appstore.repair_filter := jsonb_populate_record(NULL::appstore.repair_filter, filter);
    v_count  bigint;
BEGIN
    IF action = 'discard' THEN
        SELECT count(*) INTO v_count FROM (
            SELECT FROM appstore.outcomes AS o
            WHERE o.result IN ('failed', 'rejected', 'unhandled') AND appstore.fits(o, v_filter) LIMIT max_events) AS found;
    ELSE
        SELECT count(*) INTO v_count FROM (
            SELECT FROM appstore.outcomes AS o WHERE appstore.fits(o, v_filter) LIMIT max_events) AS found;
    END IF;
    RETURN v_count;
END
$$;

-- Puts settled events back into the queue, their outcomes into the history: those whose outcome is older than `settled_before` and whose
-- body is still there. They become due one after the other within `spread`. Not for callers: see requeue.
--
-- The body is locked together with the outcome: retention, which deletes bodies, and this cannot both win.
CREATE FUNCTION appstore.put_back(event_ids bigint[], settled_before timestamptz, actor text, spread interval) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_moved bigint[];
BEGIN
    WITH locked AS MATERIALIZED ( -- 1. in key order, as every writer
        SELECT o.event_id, octet_length(i.body) AS bytes
        FROM appstore.outcomes AS o JOIN appstore.inbox AS i ON i.event_id = o.event_id
        WHERE o.event_id = ANY (put_back.event_ids) AND o.settled_at < put_back.settled_before
        ORDER BY o.event_id
        FOR UPDATE OF o FOR KEY SHARE OF i
    ), numbered AS (
        SELECT locked.*, (row_number() OVER (ORDER BY locked.event_id) - 1)::double precision / count(*) OVER () AS position FROM locked
    ), taken AS ( -- 2. the outcome goes into the history
        DELETE FROM appstore.outcomes AS o USING locked WHERE o.event_id = locked.event_id RETURNING o.*
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT taken.*, clock_timestamp(), put_back.actor FROM taken
    ), back AS ( -- 3. the event into the queue
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT n.event_id, clock_timestamp() + n.position * put_back.spread, n.bytes
        FROM numbered AS n JOIN taken ON taken.event_id = n.event_id
        RETURNING inbox_ready.event_id
    )
    SELECT coalesce(array_agg(back.event_id ORDER BY back.event_id), '{}') INTO v_moved FROM back;
    RETURN v_moved;
END
$$;

-- Gives events that were not applied the outcome `discarded`. Not for callers: see discard.
CREATE FUNCTION appstore.discard_settled(event_ids bigint[], settled_before timestamptz, actor text, reason text) RETURNS bigint[]
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_discarded bigint[];
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT o.* FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (discard_settled.event_ids) AND o.settled_at < discard_settled.settled_before
          AND o.result IN ('failed', 'rejected', 'unhandled')
        ORDER BY o.event_id FOR UPDATE
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT locked.*, clock_timestamp(), discard_settled.actor FROM locked
    ), changed AS (
        UPDATE appstore.outcomes AS o
        SET run = o.run + 1, settled_at = clock_timestamp(), result = 'discarded', reason = discard_settled.reason
        FROM locked WHERE o.event_id = locked.event_id
        RETURNING o.event_id
    )
    SELECT coalesce(array_agg(changed.event_id ORDER BY changed.event_id), '{}') INTO v_discarded FROM changed;
    RETURN v_discarded;
END
$$;

-- As before, but never loses the outcome of an event whose body is gone.
CREATE OR REPLACE FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    v_moved bigint[] := appstore.put_back(event_ids, 'infinity', session_user::text, interval '0');
BEGIN
    IF cardinality(v_moved) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'requeue', v_moved, requeue_settled.note, requeue_settled.filter);
    END IF;
    RETURN cardinality(v_moved);
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
