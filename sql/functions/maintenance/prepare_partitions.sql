CREATE OR REPLACE FUNCTION appstore.prepare_partitions() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    v_ages    appstore.retention;
    v_did     text;
    v_newest  bigint;
    v_current record;
    v_first   record;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    v_did := coalesce(appstore.make_partition('outcomes'), appstore.make_partition('inbox'), appstore.freeze_partition());
    IF v_did IS NOT NULL THEN
        RETURN v_did;
    END IF;

    -- Where bodies age, a partition is closed after an eighth of their age, so that a shop with few events can drop partitions as well: the
    -- sequence advances into the next one. Only there, since each partition costs every claim a little. One that has grown large is closed
    -- after a twenty-fourth, so that of a million events a day none has hundreds of gigabytes.
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
    SELECT p.partition, p.to_id INTO v_current FROM appstore.inbox_partitions AS p
    WHERE v_ages.bodies IS NOT NULL AND p.parent = 'inbox' AND p.from_id <= v_newest AND p.to_id > v_newest;
    IF v_current.partition IS NOT NULL THEN
        EXECUTE format('SELECT i.event_id, i.received_at FROM appstore.%I AS i ORDER BY i.event_id LIMIT 1', v_current.partition) INTO v_first;
        IF v_first.received_at < clock_timestamp() - greatest(
               v_ages.bodies / CASE WHEN v_newest - v_first.event_id >= v_ages.partition_events THEN 24 ELSE 8 END, interval '1 day') THEN
            -- Waits for transactions that have drawn an id and blocks others, so that none draws one between the check and the advance.
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
COMMENT ON FUNCTION appstore.prepare_partitions IS
    'Makes a partition of the inbox or of the outcomes when fewer than two are ready beyond the newest event, has the next closed one frozen, or '
    'closes the current one of the inbox when it is old enough: retention.partition_events says when. Returns what it did, null when there is '
    'nothing to do. Needs locks that others hold for moments: where they are not free within lock_timeout, it fails (55P03) without any change.';

CREATE OR REPLACE FUNCTION appstore.make_partition(parent text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- While a constraint ends the last partition somewhere, no id may reach that end: a billion is more than comes before the next step.
    c_room   CONSTANT bigint := 1000000000;
    c_short  CONSTANT bigint := 8 * 1024 * 1024; -- the most bytes of rows that are read under an exclusive lock: some milliseconds
    v_rest   text := parent || '_rest';
    v_name   text;
    v_made   text; -- the new table of the two
    v_newest bigint := (SELECT s.last_value FROM appstore.inbox_event_id AS s);
    v_size   bigint := appstore.partition_size(parent);
    v_from   bigint := (SELECT p.from_id FROM appstore.inbox_partitions AS p WHERE p.partition = v_rest);
    v_to     bigint;
    v_last   bigint;
    v_bound  record;
    v_comment text; -- of the last partition
BEGIN
    v_name := parent || '_from_' || v_from;
    SELECT c.conname, c.convalidated, substring(pg_get_constraintdef(c.oid) FROM '< ''?(\d+)')::bigint AS to_id INTO v_bound
    FROM pg_constraint AS c WHERE c.conrelid = ('appstore.' || v_rest)::regclass AND c.conname = v_rest || '_ends';
    IF v_bound.conname IS NULL AND v_from > v_newest + 2 * v_size THEN
        RETURN NULL;
    END IF;

    -- 1. Rows in the last partition: no worker has made one for long. It ends behind its rows and becomes a partition as it is. PostgreSQL proves
    --    its new bounds by reading it under an exclusive lock, unless a constraint proves them, which is checked beside the inserts.
    EXECUTE format('SELECT max(r.event_id) FROM appstore.%I AS r', v_rest) INTO v_last;
    IF v_last IS NOT NULL AND v_bound.conname IS NULL AND pg_relation_size(('appstore.' || v_rest)::regclass) > c_short THEN
        -- Both tables end at one id, outcomes first: what advances the ids for one of them must not pass the end of the other.
        v_to := c_room + (SELECT max(greatest(v_newest, v_last, p.from_id)) FROM appstore.inbox_partitions AS p
                          WHERE p.partition IN ('inbox_rest', 'outcomes_rest'));
        FOR v_name, v_from IN SELECT p.partition, p.from_id FROM appstore.inbox_partitions AS p
                              WHERE p.partition IN ('inbox_rest', 'outcomes_rest') ORDER BY p.partition LOOP
            EXECUTE format('ALTER TABLE appstore.%I ADD CONSTRAINT %I CHECK (event_id >= %s AND event_id < %s) NOT VALID', v_name,
                           v_name || '_ends', v_from, v_to);
        END LOOP;
        RETURN 'ended ' || v_rest;
    ELSIF NOT v_bound.convalidated THEN
        EXECUTE format('ALTER TABLE appstore.%I VALIDATE CONSTRAINT %I', v_rest, v_bound.conname);
        RETURN 'checked ' || v_rest;
    END IF;

    -- 2. Take the last partition off. The lock waits for the transactions that have drawn ids, and others draw none before the end.
    EXECUTE format('ALTER TABLE appstore.%I DETACH PARTITION appstore.%I', parent, v_rest);
    SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
    EXECUTE format('SELECT max(r.event_id) FROM appstore.%I AS r', v_rest) INTO v_last;
    v_to := coalesce(v_bound.to_id, greatest(CASE WHEN v_last IS NULL THEN v_from + v_size ELSE v_last + 1 END, v_newest + 1));
    IF v_last IS NULL AND v_bound.conname IS NULL THEN
        v_made := v_name;
    ELSE
        v_comment := obj_description(('appstore.' || v_rest)::regclass);
        PERFORM appstore.rename_partition(v_rest, v_name);
        EXECUTE format('COMMENT ON TABLE appstore.%I IS NULL', v_name);
        v_made := v_rest;
    END IF;
    EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.%I INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES) '
                   'WITH (autovacuum_vacuum_scale_factor = 0.02%s)', v_made, parent,
                   CASE parent WHEN 'inbox' THEN ', toast.autovacuum_vacuum_scale_factor = 0.02' END); -- LIKE does not copy them

    IF v_comment IS NOT NULL THEN
        EXECUTE format('COMMENT ON TABLE appstore.%I IS %L', v_rest, v_comment);
    END IF;

    -- 3. Put it back behind the new one.
    EXECUTE format('ALTER TABLE appstore.%I ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', parent, v_name, v_from, v_to);
    EXECUTE format('ALTER TABLE appstore.%I ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (MAXVALUE)', parent, v_rest, v_to);
    IF v_bound.conname IS NOT NULL THEN
        EXECUTE format('ALTER TABLE appstore.%I DROP CONSTRAINT %I', v_name, v_bound.conname);
        IF parent = 'inbox' THEN
            EXECUTE format('ALTER SEQUENCE appstore.inbox_event_id RESTART WITH %s', v_to);
        END IF;
    END IF;
    RETURN 'made ' || v_name;
END
$$;
COMMENT ON FUNCTION appstore.make_partition IS
    'Makes the next partition of a table when fewer than two are ready beyond the newest event: a part of the last one, which has all later ids and '
    'is empty, or the last one itself where it has rows. Large ones take three steps, of which the one that reads the rows blocks no insert. Returns '
    'what it did, else null.';

CREATE OR REPLACE FUNCTION appstore.partition_size(parent text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_partition text;
    v_ids       bigint;
    v_used      bigint := 0;
BEGIN
    FOR v_partition IN SELECT p.partition FROM appstore.inbox_partitions AS p WHERE p.parent = partition_size.parent AND p.from_id IS NOT NULL LOOP
        EXECUTE format('SELECT max(p.event_id) - min(p.event_id) + 1 FROM appstore.%I AS p', v_partition) INTO v_ids;
        v_used := v_used + coalesce(v_ids, 0);
    END LOOP;
    RETURN greatest((SELECT r.partition_events FROM appstore.retention AS r) * CASE parent WHEN 'outcomes' THEN 8 ELSE 1 END, v_used / 5);
END
$$;
COMMENT ON FUNCTION appstore.partition_size IS
    'How many ids the next partition gets: retention.partition_events, eight times as many for outcomes, whose rows are small; and at least a fifth '
    'of the ids in use, so that even what is kept for ever has some fifty partitions at a billion events.';

CREATE OR REPLACE FUNCTION appstore.rename_partition(partition text, new_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_index text;
BEGIN
    EXECUTE format('ALTER TABLE appstore.%I RENAME TO %I', partition, new_name);
    FOR v_index IN SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
                   WHERE i.indrelid = ('appstore.' || quote_ident(new_name))::regclass AND starts_with(c.relname, partition) LOOP
        EXECUTE format('ALTER INDEX appstore.%I RENAME TO %I', v_index, left(new_name || substr(v_index, length(partition) + 1), 63));
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.rename_partition IS 'Renames a partition, and its indexes that are named after it.';

-- A worker may not VACUUM. With these parameters autovacuum comes where a row was inserted since its last visit, reads each page that is
-- not frozen, and freezes it. That writes each page to the log once more. What is dropped within a year is not worth it: as a rule it is gone
-- before autovacuum must freeze it, 200 million transactions later.
CREATE OR REPLACE FUNCTION appstore.freeze_partition() RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The view is read once, under any statistics: an anti-join does not repeat its outer side.
    v_name text := (
        SELECT p.partition
        FROM appstore.retention AS r
        CROSS JOIN LATERAL (
            SELECT p.partition, CASE p.parent WHEN 'inbox' THEN r.bodies ELSE r.outcomes END AS age
            FROM appstore.inbox_partitions AS p WHERE p.is_past
            UNION ALL
            SELECT c.relname, r.feed
            FROM pg_inherits AS h JOIN pg_class AS c ON c.oid = h.inhrelid CROSS JOIN appstore.feed_head AS f
            WHERE h.inhparent = 'appstore.feed'::regclass AND c.relname <> 'feed_from_' || f.partition_from
        ) AS p
        WHERE (p.age <= interval '1 year') IS NOT TRUE
          AND NOT EXISTS (SELECT FROM pg_class AS c
                          WHERE c.oid = format('appstore.%I', p.partition)::regclass AND 'autovacuum_freeze_min_age=0' = ANY (c.reloptions))
        ORDER BY p.partition LIMIT 1);
BEGIN
    IF v_name IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('ALTER TABLE appstore.%I SET (%s)', v_name, (
        SELECT string_agg(place || setting || ' = 0', ', ')
        FROM unnest(ARRAY['', 'toast.']) AS place,
             unnest(ARRAY['autovacuum_freeze_min_age', 'autovacuum_freeze_table_age', 'autovacuum_vacuum_insert_threshold',
                          'autovacuum_vacuum_insert_scale_factor']) AS setting));
    RETURN 'will freeze ' || v_name;
END
$$;
COMMENT ON FUNCTION appstore.freeze_partition IS
    'Has autovacuum freeze the next partition that gets no new rows and is kept for longer than a year, with its TOAST table: rows that are frozen '
    'are not read again for the age of their transaction ids, which would one day be all of them at once. Returns what it did, else null.';
