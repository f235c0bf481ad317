-- Ages: what of the inbox goes, and when. The inbox is cut into partitions by id; those that have aged are dropped, and what little else
-- goes is deleted in small batches. Every step is a short transaction that can be interrupted at any point, and none takes an event
-- without outcome: a body goes only when its event's outcome is there and old enough.

-- The one row of settings; an operator changes it by UPDATE. null means for ever.
CREATE TABLE appstore.retention (
    is_only           boolean  NOT NULL DEFAULT true PRIMARY KEY,
    bodies            interval,                            -- raw bodies, after the event's outcome
    outcomes          interval,                            -- outcomes and their history
    rejected_bodies   interval NOT NULL DEFAULT '1 day',   -- of what was rejected and could not be verified: anyone can post it
    rejected_outcomes interval NOT NULL DEFAULT '30 days',
    partition_events  bigint   NOT NULL DEFAULT 10000000,  -- ids in a partition; one is also closed after an eighth of the age of bodies
    CONSTRAINT retention_is_one_row CHECK (is_only),
    CONSTRAINT retention_bodies_a_day CHECK (bodies >= interval '1 day'),
    CONSTRAINT retention_outcomes_outlive_bodies CHECK (outcomes IS NULL OR (bodies IS NOT NULL AND outcomes >= bodies)),
    CONSTRAINT retention_rejected_bodies_an_hour CHECK (rejected_bodies >= interval '1 hour'),
    CONSTRAINT retention_rejected_outcomes_outlive_bodies CHECK (rejected_outcomes >= rejected_bodies),
    CONSTRAINT retention_partition_events_sensible CHECK (partition_events BETWEEN 1000 AND 1000000000)
);
INSERT INTO appstore.retention DEFAULT VALUES;

-- How far each walk over aged rows has come. A walk that reached its end begins anew.
CREATE TABLE appstore.retention_walks (
    walk       text        NOT NULL PRIMARY KEY,
    settled_at timestamptz NOT NULL DEFAULT '-infinity',
    event_id   bigint      NOT NULL DEFAULT 0
);
INSERT INTO appstore.retention_walks (walk) VALUES ('rejected_bodies'), ('rejected_outcomes'), ('default_bodies'), ('outcomes');

-- How far the look at a partition has come, from its last event down: which of its events must be kept.
CREATE TABLE appstore.partition_checks (
    partition  text        NOT NULL PRIMARY KEY,
    began_at   timestamptz NOT NULL,
    checked_to bigint      NOT NULL,
    kept       bigint[]    NOT NULL DEFAULT '{}',
    not_before timestamptz NOT NULL DEFAULT '-infinity'  -- too much must be kept: look again then
);

-- Requeued since an instant: a partition that is dropped must not take them.
CREATE INDEX outcome_history_by_replaced_at ON appstore.outcome_history (replaced_at);

-- What there is becomes the first partition of the inbox, up to the next round number; the default partition is empty again. It stays as
-- the net for ids that no partition was made for in time, and takes in what outlives its partition.
LOCK TABLE ONLY appstore.inbox IN ACCESS EXCLUSIVE MODE;
ALTER TABLE appstore.inbox DETACH PARTITION appstore.inbox_default;
ALTER TABLE appstore.inbox_default RENAME TO inbox_first;
ALTER TABLE appstore.inbox_first RENAME CONSTRAINT inbox_default_pkey TO inbox_first_pkey;
DO $$
BEGIN
    EXECUTE format('ALTER TABLE appstore.inbox ATTACH PARTITION appstore.inbox_first FOR VALUES FROM (MINVALUE) TO (%s)',
                   (SELECT (s.last_value / 10000000 + 1) * 10000000 FROM appstore.inbox_event_id AS s));
END
$$;
CREATE TABLE appstore.inbox_default PARTITION OF appstore.inbox DEFAULT;
ALTER TABLE appstore.inbox_first SET (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE appstore.inbox_default SET (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- The partitions: ids from_id up to, and without, to_id; null and null is the default one. is_past: no new event can come into it.
CREATE VIEW appstore.inbox_partitions AS
SELECT c.relname::text AS partition, b.from_id, b.to_id, coalesce(b.to_id <= s.last_value, false) AS is_past,
       pg_total_relation_size(c.oid) AS bytes
FROM pg_inherits AS h
JOIN pg_class AS c ON c.oid = h.inhrelid
CROSS JOIN appstore.inbox_event_id AS s
CROSS JOIN LATERAL (
    SELECT pg_get_expr(c.relpartbound, c.oid) AS bound
) AS e
CROSS JOIN LATERAL (
    SELECT CASE WHEN e.bound = 'DEFAULT' THEN NULL
                ELSE coalesce(substring(e.bound FROM 'FROM \(''?(\d+)''?\)')::bigint, 0) END AS from_id,
           substring(e.bound FROM 'TO \(''?(\d+)''?\)')::bigint AS to_id
) AS b
WHERE h.inhparent = 'appstore.inbox'::regclass;

-- Whether anyone could have posted it: rejected, and nothing in it could be verified.
CREATE FUNCTION appstore.is_junk(o appstore.outcomes) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT o.result = 'rejected' AND o.notification_type IS NULL AND o.notification_uuid IS NULL AND o.environment IS NULL
       AND o.bundle_id IS NULL AND o.transaction_id IS NULL
$$;

-- True when no other worker keeps house; until the end of the transaction none can.
CREATE FUNCTION appstore.keep_house() RETURNS boolean
LANGUAGE sql VOLATILE AS $$ SELECT pg_try_advisory_xact_lock(hashtextextended('appstore.keep_house', 0)) $$;

-- Makes one partition when fewer than two are ready beyond the newest event, or closes the current one when its time is over, and says
-- what it did; null when there is nothing to do. ATTACH lets inserts and claims go on, but needs the default partition for itself for a
-- moment: it gives up after 100 ms (55P03), and the caller comes again. For the worker.
CREATE FUNCTION appstore.prepare_partitions() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    v_ages    appstore.retention;
    v_newest  bigint;
    v_top     bigint;
    v_caught  bigint;   -- the greatest id that the net has caught
    v_name    text;
    v_current record;
    v_since   timestamptz;
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN NULL;
    END IF;
    SELECT * INTO v_ages FROM appstore.retention;
    SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
    SELECT coalesce(max(p.to_id), 0) INTO v_top FROM appstore.inbox_partitions AS p;
    SELECT coalesce(max(d.event_id), 0) INTO v_caught FROM appstore.inbox_default AS d;

    IF v_top <= v_newest + 2 * v_ages.partition_events THEN
        IF greatest(v_newest, v_caught) >= v_top THEN
            -- Too late for the ids up to here, and for those that are being given out now: they stay in the net.
            v_top := greatest(v_newest, v_caught) + greatest(v_ages.partition_events / 10, 1000);
        END IF;
        v_name := 'inbox_from_' || v_top;
        EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.inbox INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES) '
                       'WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02)', v_name);
        EXECUTE format('ALTER TABLE appstore.inbox ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', v_name, v_top,
                       v_top + v_ages.partition_events);
        RETURN 'made ' || v_name;
    END IF;

    -- Ids may have gaps: the sequence leaps into the next partition, so that a shop with few events can drop one now and then, too.
    SELECT p.partition, p.from_id, p.to_id INTO v_current
    FROM appstore.inbox_partitions AS p WHERE p.from_id <= v_newest AND p.to_id > v_newest
        AND EXISTS (SELECT FROM appstore.inbox_partitions AS next WHERE next.from_id = p.to_id);
    IF v_current.partition IS NOT NULL THEN
        EXECUTE format('SELECT i.received_at FROM appstore.%I AS i ORDER BY i.event_id LIMIT 1', v_current.partition) INTO v_since;
        IF v_since < clock_timestamp() - greatest(least(coalesce(v_ages.bodies / 8, interval '30 days'), interval '30 days'),
                                                  interval '1 day') THEN
            -- Waits for those who have drawn an id, and makes others wait: between the look and the leap none is drawn.
            ALTER SEQUENCE appstore.inbox_event_id INCREMENT BY 1;
            SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
            IF v_newest < v_current.to_id - 1 THEN
                EXECUTE format('ALTER SEQUENCE appstore.inbox_event_id RESTART WITH %s', v_current.to_id);
                RETURN 'closed ' || v_current.partition;
            END IF;
        END IF;
    END IF;
    RETURN NULL;
END
$$;

-- Looks at a piece of a partition that gets no new events; when of the whole of it at most 100 events must be kept (those without outcome,
-- or with a younger one), moves these to the default partition and takes it out of the inbox. The next call drops it, which takes as long
-- as deleting its files and is in nobody's way. Says what it did: `checked`, `postponed`, `detached`, `dropped`; no row when there is
-- nothing to do. Only detaching needs the inbox for itself, for some milliseconds; it gives up after 100 ms (55P03) without having changed
-- anything, and the caller comes again. For the worker.
CREATE FUNCTION appstore.drop_aged_partition() RETURNS TABLE (did text, partition text, kept integer)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_piece  CONSTANT integer := 50000;
    c_keep   CONSTANT integer := 100;
    v_now    timestamptz := clock_timestamp();
    v_cutoff timestamptz := coalesce((SELECT v_now - r.bodies FROM appstore.retention AS r), '-infinity');
    v_part   record;
    v_check  appstore.partition_checks;
    v_looked bigint;
    v_lowest bigint;
    v_kept   bigint[];
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN;
    END IF;
    SELECT c.relname::text AS partition INTO v_part FROM pg_class AS c
    WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'aged\_inbox\_%' LIMIT 1;
    IF FOUND THEN
        EXECUTE format('DROP TABLE appstore.%I', v_part.partition);
        RETURN QUERY SELECT 'dropped', substr(v_part.partition, 6), 0;
        RETURN;
    END IF;
    SELECT p.partition, p.from_id, p.to_id INTO v_part
    FROM appstore.inbox_partitions AS p LEFT JOIN appstore.partition_checks AS c ON c.partition = p.partition
    WHERE p.is_past AND coalesce(c.not_before, '-infinity') <= v_now
    ORDER BY p.from_id LIMIT 1;
    IF v_part.partition IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO appstore.partition_checks AS c (partition, began_at, checked_to) VALUES (v_part.partition, v_now, v_part.to_id)
    ON CONFLICT (partition) DO UPDATE
    SET began_at = excluded.began_at, checked_to = excluded.checked_to, kept = '{}', not_before = '-infinity'
    WHERE c.not_before > '-infinity';
    SELECT c.* INTO v_check FROM appstore.partition_checks AS c WHERE c.partition = v_part.partition;

    -- 1. The next piece, from above: the youngest events, which forbid it, are found first.
    EXECUTE format(
        'SELECT count(*), min(l.event_id), coalesce(array_agg(l.event_id) FILTER (WHERE NOT l.has_aged), ''{}'') '
        'FROM (SELECT i.event_id, EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id AND o.settled_at < $1 OFFSET 0) '
        'AS has_aged FROM appstore.%I AS i WHERE i.event_id < $2 ORDER BY i.event_id DESC LIMIT $3) AS l', v_part.partition)
    INTO v_looked, v_lowest, v_kept USING v_cutoff, v_check.checked_to, c_piece;
    v_kept := v_check.kept || v_kept;
    IF cardinality(v_kept) > c_keep THEN
        UPDATE appstore.partition_checks AS c SET not_before = v_now + interval '1 hour', kept = '{}' WHERE c.partition = v_part.partition;
        RETURN QUERY SELECT 'postponed', v_part.partition, cardinality(v_kept);
        RETURN;
    ELSIF v_looked = c_piece THEN
        UPDATE appstore.partition_checks AS c SET checked_to = v_lowest, kept = v_kept WHERE c.partition = v_part.partition;
        RETURN QUERY SELECT 'checked', v_part.partition, cardinality(v_kept);
        RETURN;
    END IF;

    -- 2. Alone with the inbox, look at what happened since the first piece: requeued events wait, or have got a young outcome.
    LOCK TABLE ONLY appstore.inbox IN ACCESS EXCLUSIVE MODE;
    v_kept := ARRAY(
        SELECT unnest(v_kept)
        UNION SELECT r.event_id FROM appstore.inbox_ready AS r WHERE r.event_id >= v_part.from_id AND r.event_id < v_part.to_id
        UNION SELECT h.event_id FROM appstore.outcome_history AS h
        WHERE h.replaced_at >= v_check.began_at - interval '5 minutes' AND h.event_id >= v_part.from_id AND h.event_id < v_part.to_id);
    DELETE FROM appstore.partition_checks AS c WHERE c.partition = v_part.partition;
    IF cardinality(v_kept) > c_keep THEN
        RETURN QUERY SELECT 'postponed', v_part.partition, cardinality(v_kept);
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE appstore.inbox DETACH PARTITION appstore.%I', v_part.partition);
    EXECUTE format('INSERT INTO appstore.inbox SELECT i.* FROM appstore.%I AS i WHERE i.event_id = ANY ($1)', v_part.partition)
    USING v_kept;
    EXECUTE format('ALTER TABLE appstore.%I RENAME TO %I', v_part.partition, 'aged_' || v_part.partition);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, filter)
    VALUES (clock_timestamp(), 'retention', 'drop_partition', '{}',
            jsonb_build_object('partition', v_part.partition, 'from', v_part.from_id, 'to', v_part.to_id, 'kept', cardinality(v_kept)));
    RETURN QUERY SELECT 'detached', v_part.partition, cardinality(v_kept);
END
$$;

-- Deletes a batch of what has aged and no partition takes with it: `rejected_bodies` of junk, `default_bodies` of the default partition,
-- `rejected_outcomes` and `outcomes`, of which the body has gone. Returns how many rows it looked at, 0 at the end of a walk, and how many
-- it deleted. For the worker.
CREATE FUNCTION appstore.age(walk text) RETURNS TABLE (looked bigint, deleted bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    c_batch     CONSTANT integer := 500;
    v_of_junk   boolean := age.walk IN ('rejected_bodies', 'rejected_outcomes');
    v_of_bodies boolean := age.walk IN ('rejected_bodies', 'default_bodies');
    v_cutoff    timestamptz;
    v_walk      appstore.retention_walks;
    v_looked    bigint;
    v_is_over   boolean;
    v_ids       bigint[];
BEGIN
    IF NOT appstore.keep_house() THEN
        RETURN;
    END IF;
    SELECT w.* INTO v_walk FROM appstore.retention_walks AS w WHERE w.walk = age.walk;
    IF v_walk.walk IS NULL THEN
        RAISE EXCEPTION 'there is no walk %', quote_nullable(age.walk) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT clock_timestamp() - CASE age.walk WHEN 'rejected_bodies' THEN r.rejected_bodies WHEN 'rejected_outcomes' THEN r.rejected_outcomes
                                             WHEN 'default_bodies' THEN r.bodies WHEN 'outcomes' THEN r.outcomes END
    INTO v_cutoff FROM appstore.retention AS r;
    IF v_cutoff IS NULL THEN
        RETURN; -- for ever
    END IF;

    -- 1. The next rows of the walk. Junk is walked by the time of its outcome, and a requeued event gets a new one: there is no way back.
    --    The other walks begin anew when they come to what was received lately.
    IF v_of_junk THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), false, coalesce(max(next.settled_at), v_walk.settled_at),
               coalesce((array_agg(next.event_id ORDER BY next.settled_at DESC, next.event_id DESC))[1], v_walk.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.settled_at, v_walk.event_id
        FROM (
            SELECT o.event_id, o.settled_at FROM appstore.outcomes AS o
            WHERE o.result = 'rejected' AND o.settled_at < v_cutoff
              AND o.settled_at >= v_walk.settled_at AND (o.settled_at, o.event_id) > (v_walk.settled_at, v_walk.event_id)
            ORDER BY o.settled_at, o.event_id LIMIT c_batch
        ) AS next;
    ELSIF v_of_bodies THEN
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), bool_and(next.received_at >= v_cutoff), max(next.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.event_id
        FROM (
            SELECT i.event_id, i.received_at FROM appstore.inbox_default AS i
            WHERE i.event_id > v_walk.event_id ORDER BY i.event_id LIMIT c_batch
        ) AS next;
    ELSE
        SELECT count(*), coalesce(array_agg(next.event_id), '{}'), bool_and(next.received_at >= v_cutoff), max(next.event_id)
        INTO v_looked, v_ids, v_is_over, v_walk.event_id
        FROM (
            SELECT o.event_id, o.received_at FROM appstore.outcomes AS o
            WHERE o.event_id > v_walk.event_id ORDER BY o.event_id LIMIT c_batch
        ) AS next;
    END IF;
    IF v_looked = 0 OR v_is_over THEN
        v_looked := 0;
        v_walk.event_id := CASE WHEN v_of_junk THEN v_walk.event_id ELSE 0 END;
    END IF;

    -- 2. Those that have aged. An outcome that is locked here cannot be requeued before the end.
    v_ids := ARRAY(
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE o.event_id = ANY (v_ids) AND o.settled_at < v_cutoff AND (NOT v_of_junk OR appstore.is_junk(o))
          AND (age.walk <> 'outcomes' OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id OFFSET 0))
        ORDER BY o.event_id FOR UPDATE);
    IF v_of_junk OR v_of_bodies THEN
        DELETE FROM appstore.inbox AS i WHERE i.event_id = ANY (v_ids);
    END IF;
    IF NOT v_of_bodies THEN
        DELETE FROM appstore.outcome_history AS h WHERE h.event_id = ANY (v_ids);
        DELETE FROM appstore.outcomes AS o WHERE o.event_id = ANY (v_ids);
    END IF;
    UPDATE appstore.retention_walks AS w SET settled_at = v_walk.settled_at, event_id = v_walk.event_id WHERE w.walk = age.walk;
    RETURN QUERY SELECT v_looked, cardinality(v_ids)::bigint;
END
$$;

-- What must hold at any time; returns the events for which it does not. Every event of the inbox either waits or has an outcome, and never
-- both; whoever waits has his body. An outcome may outlive its body. Reads everything.
CREATE FUNCTION appstore.events_not_exactly_once() RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.event_id FROM appstore.inbox AS i
    WHERE NOT EXISTS (SELECT FROM appstore.inbox_ready AS r WHERE r.event_id = i.event_id)
      AND NOT EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = i.event_id)
    UNION ALL
    SELECT r.event_id FROM appstore.inbox_ready AS r
    WHERE EXISTS (SELECT FROM appstore.outcomes AS o WHERE o.event_id = r.event_id)
       OR NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = r.event_id)
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT SELECT ON appstore.retention, appstore.inbox_partitions TO appstore_operator, appstore_viewer, appstore_worker;
GRANT UPDATE (bodies, outcomes, rejected_bodies, rejected_outcomes, partition_events) ON appstore.retention TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.events_not_exactly_once() TO appstore_operator, appstore_viewer;
GRANT EXECUTE ON FUNCTION appstore.prepare_partitions(), appstore.drop_aged_partition(), appstore.age(text) TO appstore_worker;
