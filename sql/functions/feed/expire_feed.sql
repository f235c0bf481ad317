CREATE OR REPLACE FUNCTION appstore.expire_feed() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c_slow     CONSTANT interval := 4 * appstore.feed_partition_age(); -- a partition that takes longer to fill holds entries for longer than others
    v_age      interval := (SELECT r.feed FROM appstore.retention AS r);
    v_now      timestamptz := clock_timestamp();
    v_name     text;
    v_to       bigint; -- the position after the last entry that goes
    v_newest   timestamptz;
    v_is_whole boolean;
BEGIN
    IF NOT appstore.maintenance_lock() THEN
        RETURN NULL;
    END IF;
    -- 1. All of the oldest partition goes when its newest entry has aged, unless it is the one that is filled. Of one that lasts for long, the
    --    entries go that are older than others become.
    SELECT p.name, lead(p.from_position) OVER (ORDER BY p.from_position) INTO v_name, v_to
    FROM (SELECT c.relname AS name, substr(c.relname, 11)::bigint AS from_position
          FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'appstore.feed'::regclass) AS p
    ORDER BY p.from_position LIMIT 1;
    IF v_name IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT f.told_at FROM appstore.%I AS f ORDER BY f.position DESC LIMIT 1', v_name) INTO v_newest;
    v_is_whole := v_to IS NOT NULL AND (v_newest < v_now - v_age) IS NOT FALSE;
    IF NOT v_is_whole THEN
        EXECUTE format('SELECT max(f.position) + 1, max(f.told_at) FROM (SELECT f.position, f.told_at FROM appstore.%I AS f ORDER BY f.position '
                       'LIMIT 1000) AS f WHERE f.told_at < $1', v_name)
        INTO v_to, v_newest USING v_now - v_age - c_slow;
        IF v_to IS NULL THEN
            RETURN NULL;
        END IF;
    END IF;
    -- 2. Take it away. The lock is there so that no reader that is moved back meanwhile is overlooked.
    LOCK TABLE appstore.feed IN ACCESS EXCLUSIVE MODE;
    IF v_newest >= v_now - 2 * v_age AND appstore.is_feed_needed(v_to) THEN
        RETURN NULL;
    END IF;
    UPDATE appstore.endpoints AS e
    SET state = 'behind', why = format('entries after position %s have aged', e.position), state_since = clock_timestamp(), leased_until = NULL
    WHERE e.position < v_to - 1 AND e.state <> 'behind';
    UPDATE appstore.redeliveries AS r SET state = 'aged', ended_at = clock_timestamp() WHERE r.state = 'open' AND r.after < v_to - 1;
    IF v_is_whole THEN
        EXECUTE format('DROP TABLE appstore.%I', v_name);
        RETURN 'dropped ' || v_name;
    END IF;
    DELETE FROM appstore.feed AS f WHERE f.position < v_to;
    RETURN 'deleted the entries before position ' || v_to;
END
$$;
COMMENT ON FUNCTION appstore.expire_feed IS
    'Drops the oldest partition of the feed when all of it has aged; of one that takes long to fill it deletes at most 1,000 entries that are older '
    'than their age by four times appstore.feed_partition_age. Returns what it did, else null. Needs a lock that readers hold for moments: where '
    'it is not free within lock_timeout, it fails (55P03) without any change. Endpoints that have not got all of it become behind, redeliveries '
    'aged.';

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
