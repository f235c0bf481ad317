-- The feed for keys. A cursor is a generation and a position: what follows the position is next. See feed_place.

CREATE OR REPLACE FUNCTION appstore.feed_place(
    p_generation integer, p_position bigint, p_since timestamptz, OUT state text, OUT generation integer, OUT head bigint, OUT after bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_head   appstore.feed_head;
    v_oldest bigint; -- the position before the oldest entry
    v_later  bigint := (SELECT g.from_position FROM appstore.feed_generations AS g WHERE g.generation > p_generation ORDER BY g.generation LIMIT 1);
    -- The position before what is told since the feed was off.
    v_since  bigint := (SELECT max(g.from_position) - 1 FROM appstore.feed_generations AS g WHERE g.generation > p_generation AND NOT g.is_complete);
BEGIN
    SELECT h.* INTO v_head FROM appstore.feed_head AS h;
    generation := v_head.generation;
    head := v_head.position;
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        state := 'off';
        RETURN;
    END IF;
    v_oldest := coalesce((SELECT f.position - 1 FROM appstore.feed AS f ORDER BY f.position LIMIT 1), head);
    v_oldest := greatest(v_oldest, v_since);
    IF p_since IS NOT NULL THEN
        after := appstore.feed_position_before(p_since, v_oldest, head);
        state := CASE WHEN after = v_oldest AND v_oldest > 0 THEN 'expired' ELSE 'found' END; -- older entries may have been told since then
    ELSIF p_generation IS NULL AND p_position = 0 THEN
        after := v_oldest;
        state := 'found';
    ELSIF p_generation > v_head.generation OR p_position > head OR p_position >= v_later THEN
        state := 'changed';
        after := CASE
            WHEN v_later <= p_position THEN v_later - 1
            -- A failover lost entries, and the sequencer has not begun the next generation: it will begin behind the head.
            WHEN v_head.cluster <> appstore.feed_cluster() THEN head
            ELSE (SELECT g.from_position - 1 FROM appstore.feed_generations AS g WHERE g.generation = v_head.generation) END;
        after := greatest(after, v_oldest);
    ELSE
        after := coalesce(p_position, head);
        state := CASE WHEN after < v_oldest OR after = v_since THEN 'expired' ELSE 'found' END;
    END IF;
    IF state = 'expired' THEN
        after := v_oldest;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.feed_place IS
    'Where a reader goes on in the feed: after a cursor, at the first entry told at or after p_since, at the oldest one (no generation, position 0), '
    'or behind the head (null). state is found, off, changed (after the cursor positions mean something else: after lies before what changed), or '
    'expired (what came after the cursor has aged, or was not told while the feed was off: after lies before the oldest entry since then).';

CREATE OR REPLACE FUNCTION appstore.feed_position_before(p_since timestamptz, p_oldest bigint, p_head bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_before bigint := p_oldest;
    v_since  bigint := p_head + 1;
    v_middle bigint;
BEGIN
    WHILE v_since - v_before > 1 LOOP
        v_middle := v_before + (v_since - v_before) / 2;
        IF (SELECT f.told_at < p_since FROM appstore.feed AS f WHERE f.position = v_middle) THEN
            v_before := v_middle;
        ELSE
            v_since := v_middle;
        END IF;
    END LOOP;
    RETURN v_before;
END
$$;
COMMENT ON FUNCTION appstore.feed_position_before IS
    'The position before the first entry that was told at or after p_since. It halves the range, since entries are told in the order of position.';

CREATE OR REPLACE FUNCTION appstore.feed_environments(k appstore.api_keys) RETURNS appstore.environment[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN NOT k.environments @> enum_range(NULL::appstore.environment) THEN k.environments END
$$;
COMMENT ON FUNCTION appstore.feed_environments IS 'The environments of a key as appstore.feed_wants takes them: null where it covers all.';

CREATE OR REPLACE FUNCTION appstore.feed_cloud_event(p_event text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT (jsonb_strip_nulls(jsonb_build_object(
                'specversion', '1.0', 'id', e -> 'id', 'source', '/apple' || coalesce('/' || (e #>> '{data,bundle_id}'), ''), 'type', e -> 'type',
                'subject', e #> '{data,subject}', 'time', e -> 'timestamp', 'datacontenttype', 'application/json',
                'generation', e -> 'generation', 'position', e ->> 'position'))
            || jsonb_build_object('data', e -> 'data'))::text
    FROM (SELECT p_event::jsonb) AS event (e)
$$;
COMMENT ON FUNCTION appstore.feed_cloud_event IS
    'A result of appstore.feed_event as a CloudEvent 1.0. position is text, since an integer of CloudEvents has 32 bits.';

CREATE OR REPLACE FUNCTION appstore.api_feed(
    key_hash bytea, environment appstore.environment /* null */, types text[] /* null */, consumer text /* null */,
    generation integer /* null */, from_position bigint /* null */, since timestamptz /* null */, max_entries integer, as_cloud_events boolean,
    OUT state text, OUT events text[], OUT event_types text[], OUT positions bigint[], OUT after bigint, OUT head_generation integer,
    OUT head bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET lock_timeout = '100ms' SET "TimeZone" = 'UTC' AS $$
#variable_conflict use_column
DECLARE
    v_key          appstore.api_keys := appstore.authorize(key_hash, '{feed:read}', array_remove(ARRAY[api_feed.environment], NULL));
    v_environments appstore.environment[] :=
        CASE WHEN api_feed.environment IS NULL THEN appstore.feed_environments(v_key) ELSE ARRAY[api_feed.environment] END;
    v_to           bigint;
    v_generation   integer;
    v_wanted       bigint;
    v_last         bigint;
BEGIN
    PERFORM appstore.check_feed_types(types);
    PERFORM appstore.check_argument(max_entries BETWEEN 1 AND 1000, 'max_entries must be from 1 to 1000', 'Ask again for more.');
    IF consumer IS NOT NULL THEN
        -- The consumer's row has the history of the feed.
        SELECT h.generation, c.position INTO api_feed.generation, from_position
        FROM appstore.feed_consumers AS c, appstore.feed_head AS h WHERE c.name = consumer;
        IF NOT FOUND THEN
            state := 'no_consumer';
            RETURN;
        END IF;
    END IF;
    SELECT p.state, p.generation, p.head, p.after INTO state, head_generation, head, api_feed.after
    FROM appstore.feed_place(api_feed.generation, from_position, since) AS p;
    IF state <> 'found' THEN
        RETURN;
    END IF;
    -- Few entries may be wanted: read a part of the feed, and let the caller go on.
    v_to := least(api_feed.after + 10000, head);
    v_generation := appstore.feed_generation(v_to);
    IF v_generation <> appstore.feed_generation(api_feed.after + 1) THEN
        v_generation := NULL; -- different ones
    END IF;
    SELECT count(*), array_agg(e.event ORDER BY e.position) FILTER (WHERE e.fits),
           array_agg(e.type ORDER BY e.position) FILTER (WHERE e.fits), array_agg(e.position ORDER BY e.position) FILTER (WHERE e.fits)
    INTO v_wanted, events, event_types, positions
    FROM (
        SELECT w.*, sum(octet_length(w.event)) OVER (ORDER BY w.position) - octet_length(w.event) < 524288 AS fits
        FROM (
            SELECT f.position, f.type,
                   CASE WHEN as_cloud_events THEN appstore.feed_cloud_event(e.event) ELSE e.event END AS event
            FROM appstore.feed AS f
            CROSS JOIN LATERAL appstore.feed_event(f, coalesce(v_generation, appstore.feed_generation(f.position))) AS e (event)
            WHERE f.position > api_feed.after AND f.position <= v_to
              AND appstore.feed_wants(f.type, f.environment, f.bundle_id, types, v_key.bundle_ids, v_environments)
            ORDER BY f.position LIMIT max_entries
        ) AS w
    ) AS e;
    v_last := positions[cardinality(positions)];
    api_feed.after := CASE WHEN v_wanted = max_entries OR v_wanted > cardinality(positions) THEN v_last ELSE v_to END;
    events := coalesce(events, '{}');
    event_types := coalesce(event_types, '{}');
    positions := coalesce(positions, '{}');
END
$$;
COMMENT ON FUNCTION appstore.api_feed IS
    'The next entries after a cursor, or of a named consumer, of the apps and environments of the key; see appstore.feed_place. It reads at most '
    '10,000 entries, and returns at most max_entries and some 512 KiB. after: where to go on, with the generation of the head, also past '
    'entries that are not wanted. state is found, off, changed, expired or no_consumer. Verb feed:read.';

CREATE OR REPLACE FUNCTION appstore.api_feed_entry(key_hash bytea, "position" bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off SET "TimeZone" = 'UTC' AS $$
#variable_conflict use_column
DECLARE
    v_key appstore.api_keys := appstore.authorize(key_hash, '{feed:read}', '{}');
BEGIN
    RETURN (
        SELECT appstore.feed_event(f, appstore.feed_generation(f.position)) FROM appstore.feed AS f
        WHERE f.position = api_feed_entry."position"
          AND appstore.feed_wants(f.type, f.environment, f.bundle_id, ARRAY[f.type], v_key.bundle_ids, appstore.feed_environments(v_key)));
END
$$;
COMMENT ON FUNCTION appstore.api_feed_entry IS
    'The entry at a position; null where there is none, or it has aged, or is not of an app and environment of the key. Verb feed:read.';

-- The listener asks for all callers that wait, ten times a second.
CREATE OR REPLACE FUNCTION appstore.feed_end(OUT generation integer, OUT "position" bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT h.generation, h.position INTO feed_end.generation, feed_end."position" FROM appstore.feed_head AS h;
END
$$;
COMMENT ON FUNCTION appstore.feed_end IS 'The generation and the latest position. It needs no key, and tells nothing else.';

CREATE OR REPLACE FUNCTION appstore.api_consumer(key_hash bytea, name text)
RETURNS TABLE (generation integer, "position" bigint, moved_at timestamptz, head bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.authorize(key_hash, '{feed:read}', '{}');
    RETURN QUERY SELECT h.generation, c.position, c.moved_at, h.position FROM appstore.feed_consumers AS c, appstore.feed_head AS h
                 WHERE c.name = api_consumer.name;
END
$$;
COMMENT ON FUNCTION appstore.api_consumer IS 'A named consumer of the feed and where the feed ends; no row where there is none. Verb feed:read.';

CREATE OR REPLACE FUNCTION appstore.api_set_consumer(
    key_hash bytea, name text, generation integer /* null */, "position" bigint /* null */, since timestamptz /* null */,
                                          OUT state text, OUT after bigint, OUT head_generation integer, OUT head bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM appstore.authorize(key_hash, '{feed:consume}', '{}');
    -- The lock on the feed that this read takes keeps partitions from being dropped until the commit.
    SELECT p.state, p.after, p.generation, p.head INTO state, after, head_generation, head
    FROM appstore.feed_place(generation, "position", since) AS p;
    IF state = 'found' THEN
        PERFORM appstore.set_consumer(name, after);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.api_set_consumer IS
    'Makes a named consumer of the feed, or moves it. state and after are those of appstore.feed_place; where state is not found, nothing '
    'has changed. Verb feed:consume.';

CREATE OR REPLACE FUNCTION appstore.api_remove_consumer(key_hash bytea, name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM appstore.authorize(key_hash, '{feed:consume}', '{}');
    RETURN appstore.remove_consumer(name);
END
$$;
COMMENT ON FUNCTION appstore.api_remove_consumer IS 'Removes a named consumer of the feed; false where there was none. Verb feed:consume.';
