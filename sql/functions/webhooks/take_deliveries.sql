-- What to send next. Nothing is marked: the worker that has the lease keeps what is in flight in memory.
CREATE OR REPLACE FUNCTION appstore.take_deliveries(
    p_name text, p_epoch bigint, p_after bigint, p_in_flight bigint[], p_most integer, p_most_redelivered integer, p_most_bytes integer)
RETURNS TABLE (kind text, "position" bigint, redelivery_id bigint, id uuid, type text, subject text, attempts integer, first_failed_ms bigint,
               held_ms bigint, body bytea, body_missing boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off SET "TimeZone" = 'UTC' AS $$
#variable_conflict use_column
DECLARE
    c_read       CONSTANT bigint := 1000; -- the most entries that are read
    v_now        timestamptz := clock_timestamp();
    v_endpoint   appstore.endpoints;
    v_redelivery appstore.redeliveries;
    v_head       bigint;
    v_first      bigint;
    v_due        bigint[];
    v_next       bigint[];
    v_again      bigint[] := '{}';
    v_through    bigint; -- how far the feed was read
    v_again_from bigint;
    v_again_to   bigint;
BEGIN
    SELECT e.* INTO v_endpoint FROM appstore.endpoints AS e WHERE e.name = p_name AND e.epoch = p_epoch AND e.state = 'enabled';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- 1. Both of one snapshot. The lock on the feed that this read takes keeps partitions from being dropped until the commit.
    SELECT h.position, (SELECT f.position FROM appstore.feed AS f WHERE f.position > p_after ORDER BY f.position LIMIT 1)
    INTO v_head, v_first FROM appstore.feed_head AS h;
    IF v_first > p_after + 1 OR v_first IS NULL AND p_after < v_head OR p_after > v_head THEN
        RETURN; -- aged: expire_feed says so; or after a failover, until the lease is lost
    END IF;

    -- 2. What is due has half of the room while there is more to read; of an odd room, the half that chance gives it, so that neither waits for
    --    all of the other. A row whose entry is gone is given up by expire_deliveries. NOT IN, which is hashed: there may be thousands in flight.
    v_due := ARRAY(
        SELECT d.position FROM appstore.open_deliveries AS d
        WHERE d.endpoint = p_name AND d.given_up_at IS NULL AND d.run_at >= v_endpoint.due_from AND d.run_at <= v_now
          AND d.position NOT IN (SELECT known.position FROM unnest(p_in_flight) AS known (position))
          AND EXISTS (SELECT FROM appstore.feed AS f WHERE f.position = d.position OFFSET 0)
        ORDER BY d.run_at, d.position LIMIT CASE WHEN p_after < v_head THEN floor(p_most / 2.0 + random())::integer ELSE p_most END);
    v_through := least(v_head, p_after + c_read);
    v_next := ARRAY(
        SELECT f.position FROM appstore.feed AS f
        WHERE f.position > p_after AND f.position <= v_through AND appstore.endpoint_wants(v_endpoint, f)
          AND f.position NOT IN (SELECT known.position FROM unnest(p_in_flight) AS known (position))
          AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = p_name AND d.position = f.position OFFSET 0)
        ORDER BY f.position LIMIT p_most - cardinality(v_due));
    IF cardinality(v_due) + cardinality(v_next) >= p_most THEN
        v_through := coalesce(v_next[cardinality(v_next)], p_after);
    END IF;
    IF p_most_redelivered > 0 THEN
        SELECT r.* INTO v_redelivery FROM appstore.redeliveries AS r WHERE r.endpoint = p_name AND r.state = 'open' ORDER BY r.redelivery_id LIMIT 1;
    END IF;
    IF v_redelivery.redelivery_id IS NOT NULL THEN
        v_again_from := greatest(v_redelivery.after, (SELECT f.position - 1 FROM appstore.feed AS f ORDER BY f.position LIMIT 1));
        v_again_to := least(v_redelivery.upto, v_again_from + c_read);
        v_again := ARRAY(
            SELECT f.position FROM appstore.feed AS f
            WHERE f.position > v_again_from AND f.position <= v_again_to AND appstore.endpoint_wants(v_endpoint, f)
              AND (v_redelivery.types IS NULL OR appstore.feed_wants(f.type, NULL, NULL, v_redelivery.types, NULL, NULL))
              AND f.position NOT IN (SELECT known.position FROM unnest(p_in_flight) AS known (position))
              AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d -- it comes anyway, in its order
                              WHERE d.endpoint = p_name AND d.position = f.position AND d.given_up_at IS NULL OFFSET 0)
            ORDER BY f.position LIMIT p_most_redelivered);
        IF cardinality(v_again) = p_most_redelivered THEN
            v_again_to := v_again[p_most_redelivered];
        END IF;
    END IF;
    IF v_due = '{}' AND v_next = '{}' AND v_again = '{}' AND v_through = p_after AND v_again_to IS NULL THEN
        RETURN;
    END IF;

    -- 3. Their bodies, until there are enough bytes. The size of a body in the inbox is known without reading it.
    RETURN QUERY
    WITH entry AS MATERIALIZED (
        SELECT c.kind, c.position, c.place, f.id, f.type, f.subject, d.attempts, d.first_failed_at, rendered.json,
               v_endpoint.format = 'raw' AND f.type <> 'test' AS is_raw, f.event_id, coalesce(octet_length(rendered.json), i.bytes, 0) AS bytes
        FROM (SELECT 'due' AS kind, due.position, due.place FROM unnest(v_due) WITH ORDINALITY AS due (position, place)
              UNION ALL
              SELECT 'next', next.position, next.place + 1000 FROM unnest(v_next) WITH ORDINALITY AS next (position, place)
              UNION ALL
              SELECT 'redelivery', again.position, again.place + 2000 FROM unnest(v_again) WITH ORDINALITY AS again (position, place)) AS c
        CROSS JOIN LATERAL (
            SELECT f.id, f.type, f.subject, f.data ->> 'event_id' AS event_id, f AS entry
            FROM appstore.feed AS f WHERE f.position = c.position OFFSET 0
        ) AS f
        LEFT JOIN LATERAL (
            SELECT d.attempts, d.first_failed_at FROM appstore.open_deliveries AS d
            WHERE d.endpoint = p_name AND d.position = c.position AND d.given_up_at IS NULL OFFSET 0
        ) AS d ON true
        LEFT JOIN LATERAL (
            SELECT convert_to(appstore.feed_event(f.entry, appstore.feed_generation(c.position)), 'UTF8') AS json
            WHERE v_endpoint.format = 'event' OR f.type = 'test'
        ) AS rendered ON true
        LEFT JOIN LATERAL (
            SELECT octet_length(i.body) AS bytes FROM appstore.inbox AS i WHERE rendered.json IS NULL AND i.event_id = f.event_id::bigint OFFSET 0
        ) AS i ON true
    ), measured AS MATERIALIZED (
        SELECT e.*, row_number() OVER (ORDER BY e.place) = 1 OR sum(e.bytes) OVER (ORDER BY e.place) <= p_most_bytes AS fits FROM entry AS e
    )
    (SELECT m.kind, m.position, CASE m.kind WHEN 'redelivery' THEN v_redelivery.redelivery_id END, m.id, m.type, m.subject, coalesce(m.attempts, 0),
           appstore.milliseconds(v_now - m.first_failed_at),
           CASE WHEN v_endpoint.keeps_order AND m.kind <> 'redelivery' THEN appstore.held_for(p_name, m.subject, m.position, v_now) END,
           coalesce(m.json, i.body), m.is_raw AND i.body IS NULL
    FROM measured AS m
    LEFT JOIN LATERAL (SELECT i.body FROM appstore.inbox AS i WHERE m.is_raw AND i.event_id = m.event_id::bigint OFFSET 0) AS i ON true
    WHERE m.fits
    ORDER BY m.place)
    UNION ALL
    SELECT t.kind, t.position, t.redelivery_id, NULL, NULL, NULL, 0, NULL, NULL, NULL, false
    FROM (SELECT 'through' AS kind, NULL::bigint AS redelivery_id,
                 coalesce((SELECT min(m.position) - 1 FROM measured AS m WHERE m.kind = 'next' AND NOT m.fits), v_through) AS position
          UNION ALL
          SELECT 'redelivered_through', v_redelivery.redelivery_id,
                 coalesce((SELECT min(m.position) - 1 FROM measured AS m WHERE m.kind = 'redelivery' AND NOT m.fits), v_again_to)) AS t
    WHERE CASE t.kind WHEN 'through' THEN t.position > p_after ELSE t.position > v_redelivery.after END;
END
$$;
COMMENT ON FUNCTION appstore.take_deliveries IS
    'What the lease holder of an endpoint sends next, without what is in flight: what is due, what follows p_after, and what an open redelivery '
    'sends again; at most p_most of the first two, and p_most_bytes, but one at least. through and redelivered_through say how far the feed was '
    'read, at most 1,000 entries. No row when the lease is lost, or the next entry has aged.';

-- Without a SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION appstore.endpoint_wants(e appstore.endpoints, f appstore.feed) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN f.type = 'test' THEN f.data ->> 'endpoint' = e.name
                ELSE appstore.feed_wants(
                    f.type, f.environment, f.bundle_id,
                    CASE WHEN e.format = 'event' THEN e.types
                         WHEN e.with_wrong_bundle THEN '{notification.received,notification.rejected}' ELSE '{notification.received}' END,
                    e.bundle_ids, e.environments) END
$$;
COMMENT ON FUNCTION appstore.endpoint_wants IS 'Whether an endpoint gets an entry. A test is for the endpoint that it names.';

CREATE OR REPLACE FUNCTION appstore.held_for(p_endpoint text, p_subject text, p_position bigint, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF appstore.first_waiting(p_endpoint, p_subject) < p_position THEN
        RETURN 600000;
    END IF;
    RETURN appstore.milliseconds(appstore.held_until(p_endpoint, p_subject, p_position, p_now) - p_now);
END
$$;
COMMENT ON FUNCTION appstore.held_for IS
    'For how many milliseconds an entry must wait for earlier ones of its subject: until the ten minutes of the last one that failed are over; '
    'or, ten minutes, while one waits itself. Null: it need not.';

CREATE OR REPLACE FUNCTION appstore.held_until(p_endpoint text, p_subject text, p_position bigint, p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT d.first_failed_at + interval '10 minutes' FROM appstore.open_deliveries AS d
            WHERE d.endpoint || ' ' || d.subject = p_endpoint || ' ' || p_subject AND d.first_failed_at > p_now - interval '10 minutes'
              AND d.position < p_position AND d.given_up_at IS NULL AND d.first_failed_at IS NOT NULL
            ORDER BY d.first_failed_at DESC LIMIT 1);
END
$$;
COMMENT ON FUNCTION appstore.held_until IS 'Until when an entry is held by an earlier one of its subject that failed; null: it is not.';

CREATE OR REPLACE FUNCTION appstore.first_waiting(p_endpoint text, p_subject text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT d.position FROM appstore.open_deliveries AS d
            WHERE d.endpoint || ' ' || d.subject = p_endpoint || ' ' || p_subject AND d.given_up_at IS NULL AND d.first_failed_at IS NULL
            ORDER BY d.position LIMIT 1);
END
$$;
COMMENT ON FUNCTION appstore.first_waiting IS 'The first of the entries of a subject that wait for an endpoint; null: none does.';
