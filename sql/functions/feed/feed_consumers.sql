-- Named consumers. A consumer's row and its own writes commit together, so that it takes each entry exactly once.

CREATE OR REPLACE FUNCTION appstore.take(consumer text, n bigint DEFAULT 100) RETURNS SETOF appstore.feed
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_after bigint;
    v_last  bigint;
    v_taken bigint;
BEGIN
    PERFORM appstore.check_argument(n > 0, format('%s entries cannot be taken', coalesce(n::text, 'null')), 'n is at least 1.');
    SELECT c.position INTO v_after FROM appstore.feed_consumers AS c WHERE c.name = take.consumer FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no consumer %', quote_nullable(consumer)
            USING ERRCODE = 'no_data_found', HINT = 'Make it first: SELECT appstore.set_consumer(''mailer'').';
    END IF;
    v_last := v_after + (SELECT least(n, h.position - v_after) FROM appstore.feed_head AS h);
    IF v_last <= v_after THEN
        RETURN;
    END IF;
    -- EXECUTE plans for these positions, and so opens and locks the partitions that hold them; a cached plan locks all. The lock on the feed
    -- keeps partitions from being dropped until the commit.
    RETURN QUERY EXECUTE 'SELECT f.* FROM appstore.feed AS f WHERE f.position > $1 AND f.position <= $2 ORDER BY f.position'
        USING v_after, v_last;
    GET DIAGNOSTICS v_taken = ROW_COUNT;
    IF v_taken < v_last - v_after THEN -- positions have no gaps
        RAISE EXCEPTION 'entries after position % that consumer % has not taken have aged', v_after, consumer
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT =
            'Go on from now: appstore.set_consumer(…, (SELECT position FROM appstore.feed_head)). Then read appstore.entitlements for the state.';
    END IF;
    UPDATE appstore.feed_consumers AS c SET position = v_last, moved_at = clock_timestamp() WHERE c.name = take.consumer;
END
$$;
COMMENT ON FUNCTION appstore.take IS
    'The next n entries of the feed for a named consumer, in order. Moves the consumer in the caller''s transaction: exactly once with what the '
    'caller writes. A second transaction of the consumer waits for the first. Fails with object_not_in_prerequisite_state when entries have aged.';

CREATE OR REPLACE FUNCTION appstore.set_consumer(name text, after bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_head  bigint := (SELECT h.position FROM appstore.feed_head AS h);
    v_first bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1);
BEGIN
    PERFORM appstore.check_argument(after IS NULL OR after = 0 OR after BETWEEN coalesce(v_first - 1, v_head) AND v_head,
        format('after must be from %s to %s', coalesce(v_first - 1, v_head), v_head), 'Older entries have aged. 0 is the begin.');
    INSERT INTO appstore.feed_consumers AS c (name, position, moved_at)
    VALUES (set_consumer.name, CASE set_consumer.after WHEN 0 THEN coalesce(v_first - 1, v_head) ELSE coalesce(set_consumer.after, v_head) END,
            clock_timestamp())
    ON CONFLICT (name) DO UPDATE
    SET position = CASE WHEN set_consumer.after IS NULL THEN c.position ELSE excluded.position END,
        moved_at = CASE WHEN set_consumer.after IS NULL THEN c.moved_at ELSE excluded.moved_at END
    RETURNING c.position INTO v_head;
    RETURN v_head;
END
$$;
COMMENT ON FUNCTION appstore.set_consumer IS
    'Makes a consumer of the feed, or moves it: its next entry is the one after this position; 0 for the oldest one. Null makes one that begins '
    'now, and leaves one that exists where it is. Returns the position.';

CREATE OR REPLACE FUNCTION appstore.remove_consumer(name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM appstore.feed_consumers AS c WHERE c.name = remove_consumer.name;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION appstore.remove_consumer IS 'Removes a consumer, so that the feed is no longer kept for it. Returns whether there was one.';
