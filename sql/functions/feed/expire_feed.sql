CREATE FUNCTION appstore.expire_feed() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    v_name   text;
    v_to     bigint; -- the first position of the next partition
    v_newest timestamptz;
    v_age    interval := (SELECT r.feed FROM appstore.retention AS r);
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    SELECT p.name, lead(p.from_position) OVER (ORDER BY p.from_position) INTO v_name, v_to
    FROM (SELECT c.relname AS name, substr(c.relname, 11)::bigint AS from_position
          FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'appstore.feed'::regclass) AS p
    ORDER BY p.from_position LIMIT 1;
    IF v_to IS NULL THEN
        RETURN NULL;
    ELSIF EXISTS (SELECT FROM appstore.feed_consumers AS c WHERE c.position < v_to - 1) THEN
        v_age := v_age * 2;
    END IF;
    EXECUTE format('SELECT f.told_at FROM appstore.%I AS f ORDER BY f.position DESC LIMIT 1', v_name) INTO v_newest;
    IF v_newest >= clock_timestamp() - v_age THEN
        RETURN NULL;
    END IF;
    EXECUTE format('DROP TABLE appstore.%I', v_name);
    RETURN v_name;
END
$$;
COMMENT ON FUNCTION appstore.expire_feed IS
    'Drops the oldest partition of the feed when all of it has aged, and returns its name, else null. The newest one stays. Needs a lock that '
    'readers hold for moments: it fails after 100 ms (55P03) without any change.';
