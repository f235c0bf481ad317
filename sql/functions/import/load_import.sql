-- What appstore-inbox import sends while it reads a file. A file that breaks off leaves an import that is loading, which appstore.expire_imports
-- removes.

CREATE OR REPLACE FUNCTION appstore.begin_import(
    bundle_id text, environment appstore.environment /* null */, depth text, file_name text, file_sha256 bytea DEFAULT NULL, again boolean DEFAULT false,
    OUT import_id integer, OUT is_new boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_argument(char_length(begin_import.bundle_id) BETWEEN 1 AND 255, 'bundle_id must have 1 to 255 characters',
                                    'Give the app''s bundle id.'),
            appstore.check_argument(begin_import.depth IN ('statuses', 'history'), format('there is no depth %L', begin_import.depth),
                                    'Depths are statuses and history.'),
            appstore.check_argument(octet_length(begin_import.file_name) BETWEEN 1 AND 255, 'file_name must have 1 to 255 bytes',
                                    'Give the last part of the path.');
    import_id := appstore.import_of_file(begin_import.bundle_id, begin_import.environment, begin_import.depth, begin_import.file_sha256, again);
    is_new := import_id IS NULL;
    IF is_new THEN
        INSERT INTO appstore.imports AS r (bundle_id, environment, depth, file_name, made_by)
        VALUES (begin_import.bundle_id, begin_import.environment, begin_import.depth, begin_import.file_name, appstore.actor())
        RETURNING r.import_id INTO import_id;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.begin_import IS
    'Begins to load a file, or returns the import that it belongs to already, and lets that go on: the one of the same SHA-256, app, environment and '
    'depth. With again it is a new import, except where another one is not done. Without a SHA-256, as of a pipe, only the end of the file tells.';

CREATE OR REPLACE FUNCTION appstore.import_of_file(
    p_bundle_id text, p_environment appstore.environment, p_depth text, p_file_sha256 bytea, p_again boolean) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_import appstore.imports;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('appstore.imports', 0));
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.file_sha256 = p_file_sha256 AND r.bundle_id = p_bundle_id AND r.environment IS NOT DISTINCT FROM p_environment
      AND r.depth = p_depth AND r.state <> 'loading' AND NOT (r.state = 'done' AND coalesce(p_again, false))
      AND NOT (r.state = 'stopped' AND appstore.is_expired(r))
    ORDER BY r.state = 'done', r.import_id DESC LIMIT 1;
    IF v_import.state IN ('paused', 'stopped') THEN
        PERFORM appstore.change_import(v_import.import_id, 'running');
    END IF;
    RETURN v_import.import_id;
END
$$;
COMMENT ON FUNCTION appstore.import_of_file IS
    'The import of a file, which goes on from now on; null where there is none. Until the transaction ends, others wait with the same question.';

CREATE OR REPLACE FUNCTION appstore.add_import_items(
    import_id integer, lines integer[], ids text[], user_ids text[], environments appstore.environment[], revisions text[],
    token_lines integer[] DEFAULT NULL, tokens uuid[] DEFAULT NULL, OUT added integer, OUT contradicting integer[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_import appstore.imports;
    v_bad    integer;
BEGIN
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.import_id = add_import_items.import_id AND r.state = 'loading' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'import % is not loading', quote_nullable(add_import_items.import_id) USING ERRCODE = 'no_data_found',
            HINT = 'It was not touched for an hour: begin again.';
    END IF;
    v_bad := (SELECT min(l.line) FROM unnest(lines, ids, user_ids, revisions) AS l (line, id, user_id, revision)
              WHERE (l.id ~ '^[0-9]{1,32}$') IS NOT TRUE OR char_length(l.user_id) NOT BETWEEN 1 AND 255 OR octet_length(l.revision) > 1000);
    PERFORM appstore.check_argument(v_bad IS NULL, format('line %s cannot be imported', v_bad),
                                    'An id has 1 to 32 digits, a user 1 to 255 characters, a revision at most 1000 bytes.');
    v_bad := (SELECT min(t.line) FROM unnest(token_lines, tokens) AS t (line, token)
              LEFT JOIN unnest(lines, user_ids) AS l (line, user_id) USING (line)
              WHERE l.user_id IS NULL OR (substr(t.token::text, 15, 1) <> '8') IS NOT TRUE);
    PERFORM appstore.check_argument(v_bad IS NULL, format('line %s cannot be imported', v_bad),
                                    'A token is a UUID, but none of version 8, and belongs to the user of its line.');
    WITH new AS (
        INSERT INTO appstore.import_items AS i (import_id, line, environment, is_given, id, user_id, revision)
        SELECT v_import.import_id, min(l.line), coalesce((array_agg(l.environment ORDER BY l.line))[1], v_import.environment, 'Production'),
               coalesce((array_agg(l.environment ORDER BY l.line))[1], v_import.environment) IS NOT NULL, l.id,
               (array_agg(l.user_id ORDER BY l.line) FILTER (WHERE l.user_id IS NOT NULL))[1], (array_agg(l.revision ORDER BY l.line))[1]
        FROM unnest(lines, ids, user_ids, environments, revisions) AS l (line, id, user_id, environment, revision)
        GROUP BY l.id ORDER BY 2
        ON CONFLICT (id, import_id) DO UPDATE SET user_id = excluded.user_id WHERE i.user_id IS NULL AND excluded.user_id IS NOT NULL
        RETURNING i.xmax = 0 AS is_new -- an item that another line was about has been locked
    )
    SELECT count(*) FILTER (WHERE is_new) INTO added FROM new;
    contradicting := ARRAY(
        SELECT l.line
        FROM unnest(lines, ids, user_ids, environments) AS l (line, id, user_id, environment)
        CROSS JOIN LATERAL (
            SELECT i.line, i.user_id, i.environment, i.is_given FROM appstore.import_items AS i
            WHERE i.id = l.id AND (i.import_id = v_import.import_id) IS TRUE OFFSET 0
        ) AS i
        WHERE added < cardinality(lines) AND i.line <> l.line
          AND (i.user_id <> l.user_id OR i.is_given AND i.environment <> l.environment) ORDER BY l.line);
    INSERT INTO appstore.import_tokens (import_id, line, id, user_id, token)
    SELECT v_import.import_id, l.line, l.id, l.user_id, t.token
    FROM unnest(token_lines, tokens) AS t (line, token)
    JOIN unnest(lines, ids, user_ids) AS l (line, id, user_id) USING (line)
    WHERE t.line NOT IN (SELECT unnest(contradicting));
    UPDATE appstore.imports AS r
    SET items = r.items + added, repeated = r.repeated + cardinality(lines) - added - cardinality(contradicting), touched_at = clock_timestamp(),
        last_line = greatest(r.last_line, (SELECT max(l) FROM unnest(lines) AS l))
    WHERE r.import_id = v_import.import_id;
END
$$;
COMMENT ON FUNCTION appstore.add_import_items IS
    'Loads lines of a file, each id once: its first line counts, and the first user. Each line may have a token of its user. Returns how many became '
    'items, and the lines that name another user or environment than an earlier line with the same id, of which nothing is loaded.';

CREATE OR REPLACE FUNCTION appstore.finish_import(import_id integer, file_sha256 bytea, bad_lines integer, again boolean DEFAULT false, OUT result integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_import appstore.imports;
BEGIN
    SELECT r.* INTO v_import FROM appstore.imports AS r
    WHERE r.import_id = finish_import.import_id AND r.state = 'loading' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'import % is not loading', quote_nullable(finish_import.import_id) USING ERRCODE = 'no_data_found';
    END IF;
    result := appstore.import_of_file(v_import.bundle_id, v_import.environment, v_import.depth, finish_import.file_sha256, again);
    IF result IS NOT NULL OR v_import.items = 0 THEN
        -- It was known, which only its end could tell.
        UPDATE appstore.imports AS r SET touched_at = '-infinity' WHERE r.import_id = v_import.import_id;
        RETURN;
    END IF;
    result := v_import.import_id;
    UPDATE appstore.imports AS r
    SET state = 'running', file_sha256 = finish_import.file_sha256, bad_lines = finish_import.bad_lines, touched_at = clock_timestamp()
    WHERE r.import_id = v_import.import_id;
    PERFORM appstore.begin_live(v_import.bundle_id);
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'import', '{}',
            jsonb_build_object('import', v_import.import_id, 'bundle_id', v_import.bundle_id, 'environment', v_import.environment,
                               'depth', v_import.depth, 'file', v_import.file_name, 'sha256', encode(finish_import.file_sha256, 'hex'),
                               'items', v_import.items));
END
$$;
COMMENT ON FUNCTION appstore.finish_import IS
    'Lets the workers begin with a file that is loaded, and returns its import: another one where the file was imported before, null where it had no '
    'items.';

CREATE OR REPLACE FUNCTION appstore.change_import(import_id integer, state text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_was appstore.imports;
BEGIN
    PERFORM appstore.check_argument(change_import.state IN ('running', 'paused', 'stopped'),
                                    format('an import cannot become %s', quote_nullable(change_import.state)),
                                    'It can become running, paused or stopped.');
    SELECT r.* INTO v_was FROM appstore.imports AS r WHERE r.import_id = change_import.import_id AND r.state <> 'loading' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no import %', quote_nullable(change_import.import_id) USING ERRCODE = 'no_data_found';
    ELSIF v_was.state = 'done' OR (v_was.state = 'stopped' AND change_import.state = 'paused') THEN
        RAISE EXCEPTION 'import % is %', change_import.import_id, v_was.state USING ERRCODE = 'object_not_in_prerequisite_state';
    ELSIF v_was.state = change_import.state THEN
        RETURN;
    ELSIF appstore.is_expired(v_was) THEN
        RAISE EXCEPTION 'the ids of import % were deleted 90 days after its end', change_import.import_id
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Load the file again.';
    END IF;
    UPDATE appstore.imports AS r
    SET state = change_import.state, ended_at = CASE change_import.state WHEN 'stopped' THEN clock_timestamp() END
    WHERE r.import_id = change_import.import_id;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (clock_timestamp(), appstore.actor(), 'change_import', '{}',
            jsonb_build_object('import', change_import.import_id, 'state', change_import.state, 'was', v_was.state));
    -- The last answer may have come meanwhile.
    PERFORM appstore.end_import(change_import.import_id);
END
$$;
COMMENT ON FUNCTION appstore.change_import IS
    'Lets an import become running, paused or stopped. A worker ends after the request in flight. A stopped one can run again, for 90 days.';
