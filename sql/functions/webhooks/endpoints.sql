-- What an operator does with endpoints.

CREATE OR REPLACE FUNCTION appstore.make_endpoint(
    name text, url text, format text DEFAULT 'event', types text[] DEFAULT NULL, bundle_ids text[] DEFAULT NULL,
    environments appstore.environment[] DEFAULT NULL, with_wrong_bundle boolean DEFAULT false, keeps_order boolean DEFAULT true,
    max_in_flight integer DEFAULT 8, max_per_second integer DEFAULT NULL, timeout_seconds integer DEFAULT 15)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_variable
DECLARE
    v_endpoint appstore.endpoints;
BEGIN
    PERFORM appstore.demand_read_committed();
    v_endpoint.name := name;
    v_endpoint.endpoint_id := gen_random_uuid();
    v_endpoint.url := url;
    v_endpoint.format := format;
    v_endpoint.types := types;
    v_endpoint.bundle_ids := bundle_ids;
    v_endpoint.environments := environments;
    v_endpoint.with_wrong_bundle := with_wrong_bundle;
    v_endpoint.keeps_order := keeps_order;
    v_endpoint.max_in_flight := max_in_flight;
    v_endpoint.max_per_second := max_per_second;
    v_endpoint.timeout_seconds := timeout_seconds;
    PERFORM appstore.check_endpoint(v_endpoint);
    PERFORM appstore.lock_feed_switch(v_endpoint);
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RAISE EXCEPTION 'the feed is off' USING ERRCODE = 'object_not_in_prerequisite_state', HINT =
            'An endpoint gets the feed. Turn it on first: SELECT appstore.enable_feed().';
    ELSIF EXISTS (SELECT FROM appstore.endpoints AS e WHERE e.name = make_endpoint.name) THEN
        RAISE EXCEPTION 'endpoint % exists', name USING ERRCODE = 'unique_violation', HINT =
            'Change it: SELECT appstore.change_endpoint(…), or choose another name.';
    END IF;
    INSERT INTO appstore.endpoints (name, endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order,
                                    max_in_flight, max_per_second, timeout_seconds, position)
    SELECT name, v_endpoint.endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order, max_in_flight,
           max_per_second, timeout_seconds, h.position
    FROM appstore.feed_head AS h;
    PERFORM appstore.set_wants_raw();
    PERFORM appstore.audit_endpoint('make_endpoint', name, NULL, jsonb_strip_nulls(to_jsonb(v_endpoint)) - 'name');
    RETURN v_endpoint.endpoint_id;
END
$$;
COMMENT ON FUNCTION appstore.make_endpoint IS
    'Makes an endpoint that gets what is told from now on, and returns the id that its secrets are derived from. Null types are all but those for '
    'operators; null apps and environments are all. One that wants notifications themselves waits for the transactions of workers, up to 500 ms.';

CREATE OR REPLACE FUNCTION appstore.change_endpoint(name text, changes jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
    c_known    CONSTANT text[] := '{url,types,bundle_ids,environments,with_wrong_bundle,keeps_order,max_in_flight,max_per_second,timeout_seconds}';
    v_unknown  text;
    v_endpoint appstore.endpoints;
    v_now      timestamptz;
BEGIN
    PERFORM appstore.demand_read_committed();
    PERFORM appstore.check_argument(jsonb_typeof(changes) = 'object', 'changes must be a JSON object', 'Such as {"max_in_flight": 16}.');
    v_unknown := (SELECT string_agg(quote_literal(k), ', ') FROM jsonb_object_keys(changes) AS k WHERE k <> ALL (c_known));
    PERFORM appstore.check_argument(v_unknown IS NULL, 'an endpoint has no setting ' || v_unknown,
                                    'Settings are ' || array_to_string(c_known, ', ') || '.');
    -- The switch before the endpoint, as remove_endpoint locks them.
    v_endpoint := jsonb_populate_record((SELECT e FROM appstore.endpoints AS e WHERE e.name = change_endpoint.name), changes);
    PERFORM appstore.lock_feed_switch(v_endpoint);
    v_endpoint := jsonb_populate_record(appstore.locked_endpoint(name), changes);
    PERFORM appstore.check_endpoint(v_endpoint);
    v_now := clock_timestamp();
    UPDATE appstore.endpoints AS e
    SET url = v_endpoint.url, types = v_endpoint.types, bundle_ids = v_endpoint.bundle_ids, environments = v_endpoint.environments,
        with_wrong_bundle = v_endpoint.with_wrong_bundle, keeps_order = v_endpoint.keeps_order, max_in_flight = v_endpoint.max_in_flight,
        max_per_second = v_endpoint.max_per_second, timeout_seconds = v_endpoint.timeout_seconds, due_from = least(e.due_from, v_now)
    WHERE e.name = change_endpoint.name;
    IF NOT v_endpoint.keeps_order THEN
        UPDATE appstore.open_deliveries AS d SET run_at = greatest(clock_timestamp(), v_now)
        WHERE d.endpoint = change_endpoint.name AND d.run_at = 'infinity';
    END IF;
    PERFORM appstore.set_wants_raw();
    PERFORM appstore.audit_endpoint('change_endpoint', name, NULL, changes);
END
$$;
COMMENT ON FUNCTION appstore.change_endpoint IS
    'Changes settings of an endpoint: a JSON object with some of url, types, bundle_ids, environments, with_wrong_bundle, keeps_order, '
    'max_in_flight, max_per_second, timeout_seconds. A worker follows within a second; filters apply to what it has not read yet.';

CREATE OR REPLACE FUNCTION appstore.pause_endpoint(name text, why text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    v_endpoint appstore.endpoints := appstore.locked_endpoint(name);
BEGIN
    PERFORM appstore.check_argument(v_endpoint.state = 'enabled', format('endpoint %s is %s', name, v_endpoint.state),
                                    'Only an enabled one can be paused; resume_endpoint enables it.');
    -- The epoch stays: what is in flight is still reported.
    UPDATE appstore.endpoints AS e
    SET state = 'paused', why = coalesce(pause_endpoint.why, 'paused'), state_since = clock_timestamp()
    WHERE e.name = pause_endpoint.name;
    PERFORM appstore.audit_endpoint('pause_endpoint', name, why);
END
$$;
COMMENT ON FUNCTION appstore.pause_endpoint IS
    'Sends nothing to an endpoint until it is resumed, where it goes on. The feed is not kept for it longer than retention.feed.';

CREATE OR REPLACE FUNCTION appstore.resume_endpoint(name text, after bigint DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    v_first    bigint := (SELECT f.position FROM appstore.feed AS f ORDER BY f.position LIMIT 1); -- and keeps what is there
    v_endpoint appstore.endpoints := appstore.locked_endpoint(name);
    v_head     bigint := (SELECT h.position FROM appstore.feed_head AS h);
    v_position bigint;
BEGIN
    v_first := coalesce(v_first - 1, v_head);
    v_position := CASE after WHEN 0 THEN v_first ELSE coalesce(after, v_endpoint.position) END;
    PERFORM appstore.check_argument(
        v_position BETWEEN v_first AND v_head,
        CASE WHEN after IS NULL THEN format('entries after position %s, which endpoint %s has not got, have aged', v_position, name)
             ELSE format('after must be from %s to %s', v_first, v_head) END,
        format('Go on from the oldest entry: SELECT appstore.resume_endpoint(%L, 0), or from now: (%L, %s).', name, name, v_head));
    DELETE FROM appstore.open_deliveries AS d
    WHERE d.endpoint = resume_endpoint.name AND d.position > v_position AND v_position < v_endpoint.position; -- they come again
    UPDATE appstore.endpoints AS e
    SET state = 'enabled', why = NULL, state_since = CASE WHEN e.state = 'enabled' THEN e.state_since ELSE clock_timestamp() END,
        position = v_position, epoch = e.epoch + 1, leased_until = NULL, failures = 0, failing_since = NULL, open_until = NULL, probes = 0
    WHERE e.name = resume_endpoint.name;
    PERFORM appstore.audit_endpoint('resume_endpoint', name, NULL, jsonb_build_object(
        'was', v_endpoint.state, 'from', v_endpoint.position, 'position', v_position));
    RETURN v_position;
END
$$;
COMMENT ON FUNCTION appstore.resume_endpoint IS
    'Enables an endpoint that is paused, disabled or behind, and closes its breaker. It goes on where it was, or after this position; 0 for the '
    'oldest entry. Returns the position. What is in flight may be sent again.';

CREATE OR REPLACE FUNCTION appstore.remove_endpoint(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.demand_read_committed();
    LOCK TABLE appstore.feed_switch IN SHARE ROW EXCLUSIVE MODE;
    PERFORM appstore.locked_endpoint(name);
    DELETE FROM appstore.endpoints AS e WHERE e.name = remove_endpoint.name;
    PERFORM appstore.set_wants_raw();
    PERFORM appstore.audit_endpoint('remove_endpoint', name);
END
$$;
COMMENT ON FUNCTION appstore.remove_endpoint IS 'Removes an endpoint with its open deliveries and redeliveries. Its attempts stay until they age.';

CREATE OR REPLACE FUNCTION appstore.rotate_endpoint_secret(name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
    v_generation integer := (appstore.locked_endpoint(name)).secret_generation + 1;
BEGIN
    UPDATE appstore.endpoints AS e SET secret_generation = v_generation, rotated_at = clock_timestamp()
    WHERE e.name = rotate_endpoint_secret.name;
    PERFORM appstore.audit_endpoint('rotate_endpoint_secret', name, NULL, jsonb_build_object('secret_generation', v_generation));
    RETURN v_generation;
END
$$;
COMMENT ON FUNCTION appstore.rotate_endpoint_secret IS
    'Gives an endpoint another secret, and returns its generation. For 24 hours the previous secret signs as well; the one before it no more.';

-- UTC, as in sequence_feed: the id must not depend on the session.
CREATE OR REPLACE FUNCTION appstore.test_endpoint(name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' SET "TimeZone" = 'UTC' AS $$
#variable_conflict use_column
DECLARE
    v_endpoint appstore.endpoints := appstore.locked_endpoint(name);
    v_now      timestamptz := clock_timestamp();
BEGIN
    PERFORM appstore.check_argument(v_endpoint.state = 'enabled', format('endpoint %s is %s', name, v_endpoint.state),
                                    'Enable it first: SELECT appstore.resume_endpoint(…).');
    INSERT INTO appstore.tells (kind, ref, told_at) VALUES ('test', test_endpoint.name, v_now);
    PERFORM appstore.audit_endpoint('test_endpoint', name);
    RETURN appstore.feed_id(jsonb_build_array('test', v_now, test_endpoint.name));
END
$$;
COMMENT ON FUNCTION appstore.test_endpoint IS
    'Tells an entry of type test, for this endpoint only, and returns its id. delivery_attempts shows what became of it.';

-- Private helpers.

CREATE OR REPLACE FUNCTION appstore.locked_endpoint(p_name text) RETURNS appstore.endpoints
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM appstore.endpoints AS e WHERE e.name = p_name FOR UPDATE;
    RETURN appstore.endpoint_named(p_name);
END
$$;
COMMENT ON FUNCTION appstore.locked_endpoint IS 'The endpoint of that name, locked until the end of the transaction. Fails with no_data_found.';

CREATE OR REPLACE FUNCTION appstore.endpoint_named(p_name text) RETURNS appstore.endpoints
LANGUAGE plpgsql AS $$
DECLARE
    v_endpoint appstore.endpoints;
BEGIN
    SELECT e.* INTO v_endpoint FROM appstore.endpoints AS e WHERE e.name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no endpoint %', quote_nullable(p_name) USING ERRCODE = 'no_data_found', HINT =
            coalesce((SELECT 'Endpoints are ' || string_agg(e.name, ', ' ORDER BY e.name) || '.' FROM appstore.endpoints AS e),
                     'There is none yet: SELECT appstore.make_endpoint(…).');
    END IF;
    RETURN v_endpoint;
END
$$;
COMMENT ON FUNCTION appstore.endpoint_named IS 'The endpoint of that name. Fails with no_data_found.';

CREATE OR REPLACE FUNCTION appstore.check_endpoint(e appstore.endpoints) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM appstore.check_argument(e.name ~ '^[a-z][a-z0-9_.-]{0,62}$', 'name must begin with a letter',
                                    'It has up to 63 lower-case letters, digits, and . _ -');
    PERFORM appstore.check_argument(
        e.url ~ '^https?://[^/?#@[:space:]]+([/?][^#[:space:]]*)?$' AND octet_length(e.url) <= 2000,
        'url must begin with https:// or http:// and have a host, without a user, a password or a fragment', 'It has at most 2,000 bytes.');
    PERFORM appstore.check_argument(e.format IN ('event', 'raw'), 'format must be event or raw', 'raw forwards the notifications of Apple.');
    PERFORM appstore.check_feed_types(e.types);
    PERFORM appstore.check_argument(e.format = 'event' OR e.types IS NULL, 'a raw endpoint has no types', 'It gets notifications.');
    PERFORM appstore.check_argument(e.format = 'raw' OR NOT e.with_wrong_bundle, 'with_wrong_bundle is for raw endpoints',
                                    'Others ask for the type notification.rejected.');
    PERFORM appstore.check_argument(e.with_wrong_bundle IS NOT NULL AND e.keeps_order IS NOT NULL,
                                    'with_wrong_bundle and keeps_order must be true or false', 'Omit them for false and true.');
    PERFORM appstore.check_argument(coalesce(cardinality(e.bundle_ids), 1) > 0 AND coalesce(cardinality(e.environments), 1) > 0,
                                    'bundle_ids and environments must not be empty', 'Omit them for all.');
    PERFORM appstore.check_argument(array_position(e.bundle_ids, NULL) IS NULL AND array_position(e.environments, NULL) IS NULL,
                                    'bundle_ids and environments must have no null', 'Omit them for all.');
    PERFORM appstore.check_argument(e.max_in_flight BETWEEN 1 AND 64, 'max_in_flight must be 1 to 64', 'Omit it for 8.');
    PERFORM appstore.check_argument(coalesce(e.max_per_second, 1) BETWEEN 1 AND 10000, 'max_per_second must be 1 to 10000', 'Omit it for no limit.');
    PERFORM appstore.check_argument(e.timeout_seconds BETWEEN 1 AND 60, 'timeout_seconds must be 1 to 60', 'Omit it for 15.');
END
$$;
COMMENT ON FUNCTION appstore.check_endpoint IS 'Fails with invalid_parameter_value where a setting of an endpoint is wrong.';

-- Without a SET clause, so that PostgreSQL inlines it.
CREATE OR REPLACE FUNCTION appstore.wants_raw(e appstore.endpoints) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT e.format = 'raw' OR coalesce(e.types && '{notification.received,notification.rejected,notification.*}', false)
$$;
COMMENT ON FUNCTION appstore.wants_raw IS 'Whether an endpoint gets notification.received or notification.rejected.';

-- All that reads the switch queues behind its second lock, so that it waits for a moment only.
CREATE OR REPLACE FUNCTION appstore.lock_feed_switch(e appstore.endpoints) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
BEGIN
    LOCK TABLE appstore.feed_switch IN SHARE ROW EXCLUSIVE MODE; -- one at a time, so that the next lock cannot deadlock
    IF appstore.wants_raw(e) AND NOT (SELECT s.wants_raw FROM appstore.feed_switch AS s) THEN
        LOCK TABLE appstore.feed_switch IN ACCESS EXCLUSIVE MODE;
    END IF;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'another transaction uses the switch of the feed: try again' USING ERRCODE = 'lock_not_available', HINT =
        'Nothing was changed. pg_stat_activity shows transactions that stay open.';
END
$$;
COMMENT ON FUNCTION appstore.lock_feed_switch IS
    'Locks the switch of the feed before an endpoint is made or changed. The first one that wants notifications waits for the transactions that '
    'have read the switch, so that each event that is settled later is told.';

CREATE OR REPLACE FUNCTION appstore.set_wants_raw() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_wants_raw boolean := EXISTS (SELECT FROM appstore.endpoints AS e WHERE appstore.wants_raw(e));
BEGIN
    UPDATE appstore.feed_switch AS s SET wants_raw = v_wants_raw WHERE s.wants_raw <> v_wants_raw;
END
$$;
COMMENT ON FUNCTION appstore.set_wants_raw IS 'Writes feed_switch.wants_raw, whose lock the caller has.';

CREATE OR REPLACE FUNCTION appstore.audit_endpoint(p_action text, p_endpoint text, p_note text DEFAULT NULL, p_details jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (clock_timestamp(), appstore.actor(), p_action, '{}', p_note, jsonb_build_object('endpoint', p_endpoint) || p_details);
END
$$;
COMMENT ON FUNCTION appstore.audit_endpoint IS 'Writes a row of the audit log about an endpoint.';
