-- Sending again: a second cursor with an end, which the worker moves at up to half of the window.
CREATE OR REPLACE FUNCTION appstore.redeliver(
    endpoint text, from_position bigint DEFAULT NULL, upto_position bigint DEFAULT NULL, since timestamptz DEFAULT NULL,
    before timestamptz DEFAULT NULL, types text[] DEFAULT NULL, only_failed boolean DEFAULT false, dry_run boolean DEFAULT false,
    note text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' SET plan_cache_mode = force_custom_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_first    bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1); -- and keeps what is there
    v_endpoint appstore.endpoints := appstore.endpoint_named(endpoint); -- counting takes seconds, which it must not be locked for
    v_from     bigint := greatest(v_first, from_position, appstore.feed_position_at(since));
    v_upto     bigint := least(upto_position, appstore.feed_position_at(before) - 1, (SELECT h.position FROM appstore.feed_head AS h));
    v_entries  bigint := 0;
    v_failed   bigint[];
    v_now      timestamptz;
BEGIN
    PERFORM appstore.check_argument(only_failed IS NOT NULL AND dry_run IS NOT NULL, 'only_failed and dry_run must be true or false',
                                    'Omit them for false.');
    PERFORM appstore.check_feed_types(types);
    IF only_failed THEN
        v_failed := ARRAY(
            SELECT d.position
            FROM appstore.open_deliveries AS d
            CROSS JOIN LATERAL (SELECT f.type FROM appstore.feed AS f WHERE f.position = d.position OFFSET 0) AS f
            WHERE d.endpoint = redeliver.endpoint AND (d.given_up_at IS NOT NULL OR d.first_failed_at IS NOT NULL)
              AND d.position BETWEEN v_from AND v_upto
              AND (redeliver.types IS NULL OR appstore.feed_wants(f.type, NULL, NULL, redeliver.types, NULL, NULL)));
        v_entries := cardinality(v_failed);
    ELSE
        v_upto := least(v_upto, v_endpoint.position);
        v_entries := (SELECT count(*) FROM appstore.feed AS f
                      WHERE f.position BETWEEN v_from AND v_upto AND appstore.endpoint_wants(v_endpoint, f)
                        AND (redeliver.types IS NULL OR appstore.feed_wants(f.type, NULL, NULL, redeliver.types, NULL, NULL))
                        AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d
                                        WHERE d.endpoint = redeliver.endpoint AND d.position = f.position AND d.given_up_at IS NULL));
    END IF;
    IF dry_run OR v_entries = 0 THEN
        RETURN v_entries;
    END IF;
    PERFORM appstore.locked_endpoint(endpoint);
    IF only_failed THEN
        v_now := clock_timestamp();
        UPDATE appstore.endpoints AS e SET due_from = least(e.due_from, v_now) WHERE e.name = redeliver.endpoint;
        UPDATE appstore.open_deliveries AS d
        SET run_at = greatest(clock_timestamp(), v_now), attempts = 0, first_failed_at = NULL, given_up_at = NULL
        WHERE d.endpoint = redeliver.endpoint AND d.position = ANY (v_failed) AND (d.given_up_at IS NOT NULL OR d.first_failed_at IS NOT NULL);
        GET DIAGNOSTICS v_entries = ROW_COUNT; -- others were delivered meanwhile
    ELSE
        INSERT INTO appstore.redeliveries (endpoint, after, upto, types, note)
        VALUES (redeliver.endpoint, v_from - 1, v_upto, redeliver.types, redeliver.note);
    END IF;
    PERFORM appstore.audit_endpoint('redeliver', endpoint, note, jsonb_strip_nulls(jsonb_build_object(
        'from_position', from_position, 'upto_position', upto_position, 'since', since, 'before', before, 'types', types,
        'only_failed', only_failed, 'entries', v_entries)));
    RETURN v_entries;
END
$$;
COMMENT ON FUNCTION appstore.redeliver IS
    'Sends an endpoint again what it wants of a part of the feed, with the ids of then, beside what is new, and returns how many entries. since and '
    'before are about feed.told_at. only_failed: what failed or was given up, from its first attempt on. dry_run only counts. What follows the '
    'cursor of the endpoint, or is in the open deliveries, comes anyway and is left out.';

CREATE OR REPLACE FUNCTION appstore.stop_redelivery(id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    v_endpoint text;
BEGIN
    UPDATE appstore.redeliveries AS r SET state = 'stopped', ended_at = clock_timestamp()
    WHERE r.redelivery_id = stop_redelivery.id AND (r.state = 'open') IS TRUE
    RETURNING r.endpoint INTO v_endpoint;
    IF FOUND THEN
        PERFORM appstore.audit_endpoint('stop_redelivery', v_endpoint, NULL, jsonb_build_object('redelivery_id', id));
        RETURN true;
    ELSIF EXISTS (SELECT FROM appstore.redeliveries AS r WHERE r.redelivery_id = stop_redelivery.id) THEN
        RETURN false;
    END IF;
    RAISE EXCEPTION 'there is no redelivery %', id USING ERRCODE = 'no_data_found', HINT = 'The table appstore.redeliveries lists them.';
END
$$;
COMMENT ON FUNCTION appstore.stop_redelivery IS
    'Ends a redelivery: what is in flight is still sent. Returns false when it had ended; fails when there is none.';

-- By bisection: told_at grows with the position, and has no index.
CREATE OR REPLACE FUNCTION appstore.feed_position_at(p_at timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_low    bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1);
    v_high   bigint := (SELECT h.position + 1 FROM appstore.feed_head AS h);
    v_middle bigint;
BEGIN
    IF p_at IS NULL THEN
        RETURN NULL;
    END IF;
    WHILE v_low < v_high LOOP
        v_middle := (v_low + v_high) / 2;
        IF (SELECT f.told_at FROM appstore.feed AS f WHERE f.position = v_middle) < p_at THEN
            v_low := v_middle + 1;
        ELSE
            v_high := v_middle;
        END IF;
    END LOOP;
    RETURN v_high;
END
$$;
COMMENT ON FUNCTION appstore.feed_position_at IS
    'The position of the first entry that was told at this time or later; the next position where there is none; null for null.';
