CREATE OR REPLACE FUNCTION appstore.prepare_partitions() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    v_ages    appstore.retention;
    v_newest  bigint;
    v_made    text;
    v_current record;
    v_since   timestamptz;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    SELECT r.* INTO v_ages FROM appstore.retention AS r;
    SELECT s.last_value INTO v_newest FROM appstore.inbox_event_id AS s;
    v_made := coalesce(appstore.make_partition('inbox', v_newest, v_ages.partition_events),
                       appstore.make_partition('outcomes', v_newest, v_ages.partition_events));
    IF v_made IS NOT NULL THEN
        RETURN 'made ' || v_made;
    END IF;

    -- Where bodies age, a partition is closed after an eighth of their age, so that a shop with few events can drop partitions as well: the
    -- sequence advances into the next one. Only there, since each partition costs every claim a little.
    SELECT p.partition, p.to_id INTO v_current FROM appstore.inbox_partitions AS p
    WHERE v_ages.bodies IS NOT NULL AND p.parent = 'inbox' AND p.from_id <= v_newest AND p.to_id > v_newest
      AND EXISTS (SELECT FROM appstore.inbox_partitions AS next WHERE next.parent = 'inbox' AND next.from_id = p.to_id);
    IF v_current.partition IS NOT NULL THEN
        EXECUTE format('SELECT i.received_at FROM appstore.%I AS i ORDER BY i.event_id LIMIT 1', v_current.partition) INTO v_since;
        IF v_since < clock_timestamp() - greatest(least(v_ages.bodies / 8, interval '30 days'), interval '1 day') THEN
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
    'Makes a partition of the inbox or of the outcomes when fewer than two are ready beyond the newest event, or closes the current one of the '
    'inbox when it is old enough. Returns what it did, null when there is nothing to do. Needs a lock that others hold for moments: it fails '
    'after 100 ms (55P03) without any change.';

CREATE OR REPLACE FUNCTION appstore.make_partition(parent text, newest_event_id bigint, events bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_from bigint := (SELECT coalesce(max(p.to_id), 0) FROM appstore.inbox_partitions AS p WHERE p.parent = make_partition.parent);
    v_last bigint; -- the greatest id that the default partition holds
    v_name text;
BEGIN
    IF v_from > newest_event_id + 2 * events THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT greatest($1, max(d.event_id)) FROM appstore.%I AS d', parent || '_default') INTO v_last USING newest_event_id;
    IF v_last >= v_from THEN
        -- The ids up to here, and those being drawn, stay in the default partition.
        v_from := v_last + greatest(events / 10, 1000);
    END IF;
    v_name := parent || '_from_' || v_from;
    EXECUTE format('CREATE TABLE appstore.%I (LIKE appstore.%I INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING INDEXES) '
                   'WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02)', v_name, parent);
    EXECUTE format('ALTER TABLE appstore.%I ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', parent, v_name, v_from, v_from + events);
    RETURN v_name;
END
$$;
COMMENT ON FUNCTION appstore.make_partition IS
    'Makes the next partition of a table when fewer than two are ready beyond the newest event, and returns its name, else null. Inserts '
    'continue meanwhile; it locks the default partition exclusively for a moment.';
