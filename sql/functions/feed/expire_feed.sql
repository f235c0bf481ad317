CREATE OR REPLACE FUNCTION appstore.expire_feed() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    v_name   text;
    v_to     bigint; -- the first position of the next partition
    v_newest timestamptz;
    v_age    interval := (SELECT r.feed FROM appstore.retention AS r);
    v_head   appstore.feed_head;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    -- 1. Close the newest partition after four days. It may be large, after a burst, and would age as a whole.
    SELECT h.* INTO v_head FROM appstore.feed_head AS h FOR UPDATE SKIP LOCKED;
    IF v_head.partition_since < clock_timestamp() - interval '4 days' AND v_head.position >= v_head.partition_from
       AND v_head.position + 1 < v_head.partition_to THEN
        v_name := 'feed_from_' || v_head.partition_from;
        EXECUTE format('ALTER TABLE appstore.feed DETACH PARTITION appstore.%I', v_name);
        EXECUTE format('ALTER TABLE appstore.feed ATTACH PARTITION appstore.%I FOR VALUES FROM (%s) TO (%s)', v_name, v_head.partition_from,
                       v_head.position + 1);
        UPDATE appstore.feed_head AS h SET partition_to = v_head.position + 1;
    END IF;
    -- 2. Drop the oldest one.
    SELECT p.name, lead(p.from_position) OVER (ORDER BY p.from_position) INTO v_name, v_to
    FROM (SELECT c.relname AS name, substr(c.relname, 11)::bigint AS from_position
          FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'appstore.feed'::regclass) AS p
    ORDER BY p.from_position LIMIT 1;
    IF v_to IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT f.told_at FROM appstore.%I AS f ORDER BY f.position DESC LIMIT 1', v_name) INTO v_newest;
    IF v_newest >= clock_timestamp() - v_age THEN
        RETURN NULL;
    END IF;
    LOCK TABLE appstore.feed IN ACCESS EXCLUSIVE MODE; -- so that no reader that is moved back meanwhile is overlooked
    IF v_newest >= clock_timestamp() - 2 * v_age AND appstore.is_feed_needed(v_to) THEN
        RETURN NULL;
    END IF;
    UPDATE appstore.endpoints AS e
    SET state = 'behind', why = format('entries after position %s have aged', e.position), state_since = clock_timestamp(), leased_until = NULL
    WHERE e.position < v_to - 1 AND e.state <> 'behind';
    UPDATE appstore.redeliveries AS r SET state = 'aged', ended_at = clock_timestamp() WHERE r.state = 'open' AND r.after < v_to - 1;
    EXECUTE format('DROP TABLE appstore.%I', v_name);
    RETURN v_name;
END
$$;
COMMENT ON FUNCTION appstore.expire_feed IS
    'Drops the oldest partition of the feed when all of it has aged, and returns its name, else null. The newest one stays, and is closed after '
    'four days, so that the next entry begins another. Needs a lock that '
    'readers hold for moments: it fails after 100 ms (55P03) without any change. Endpoints that have not got all of it become behind, '
    'redeliveries aged.';

CREATE OR REPLACE FUNCTION appstore.is_feed_needed(p_before bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM appstore.feed_consumers AS c WHERE c.position < p_before - 1)
        OR EXISTS (
            SELECT FROM appstore.endpoints AS e
            WHERE e.state = 'enabled'
              AND (e.position < p_before - 1
                   OR EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = e.name AND d.given_up_at IS NULL AND d.position < p_before)
                   OR EXISTS (SELECT FROM appstore.redeliveries AS r WHERE r.endpoint = e.name AND r.state = 'open' AND r.after < p_before - 1)));
END
$$;
COMMENT ON FUNCTION appstore.is_feed_needed IS
    'Whether a consumer, or an enabled endpoint with its open deliveries and redeliveries, has not got all entries before this position.';
