CREATE OR REPLACE FUNCTION appstore.has_console_role(person text, role text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM pg_roles AS p JOIN pg_roles AS r ON r.rolname = 'appstore_' || has_console_role.role
        WHERE p.rolname = has_console_role.person AND pg_has_role(p.oid, r.oid, 'USAGE')
          AND p.rolcanlogin AND (p.rolvaliduntil IS NULL OR p.rolvaliduntil > clock_timestamp()))
$$;
COMMENT ON FUNCTION appstore.has_console_role IS 'Whether a login that may log in has the rights of appstore_viewer, appstore_operator or appstore_bodies.';

CREATE OR REPLACE FUNCTION appstore.make_console_login(token_hash bytea) RETURNS TABLE (person text, role text, expires_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_login appstore.console_logins;
BEGIN
    IF session_user = 'appstore_console' OR NOT appstore.has_console_role(session_user, 'viewer')
       AND NOT appstore.has_console_role(session_user, 'operator') THEN
        RAISE EXCEPTION 'login % may not use the console', quote_ident(session_user)
            USING ERRCODE = 'insufficient_privilege', HINT = 'GRANT appstore_viewer or appstore_operator to it.';
    END IF;
    DELETE FROM appstore.console_logins AS l WHERE l.expires_at < clock_timestamp();
    IF (SELECT count(*) FROM appstore.console_logins AS l WHERE l.person = session_user) >= 10 THEN
        RAISE EXCEPTION '10 links of % are not used yet', quote_ident(session_user)
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Use one, or wait for 60 seconds.';
    END IF;
    INSERT INTO appstore.console_logins AS l (token_hash, person, role, shows_bodies, expires_at)
    VALUES (make_console_login.token_hash, session_user,
            CASE WHEN appstore.has_console_role(session_user, 'operator') THEN 'operator' ELSE 'viewer' END,
            appstore.has_console_role(session_user, 'bodies'), clock_timestamp() + interval '60 seconds')
    RETURNING l.* INTO v_login;
    RETURN QUERY SELECT v_login.person, v_login.role, v_login.expires_at;
END
$$;
COMMENT ON FUNCTION appstore.make_console_login IS
    'Stores the SHA-256 of a token with which the login that calls this can begin one session of the console within 60 seconds. Run it in a '
    'READ WRITE transaction: those of appstore_viewer are read-only by default.';

CREATE OR REPLACE FUNCTION appstore.begin_console_session(token_hash bytea, session_hash bytea)
RETURNS TABLE (session_id bigint, person text, role text, shows_bodies boolean, expires_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_login appstore.console_logins;
    v_session appstore.console_sessions;
BEGIN
    DELETE FROM appstore.console_sessions AS s WHERE s.expires_at < v_now - interval '30 days';
    -- Of two uses of one link the second waits here, and then finds no row.
    DELETE FROM appstore.console_logins AS l WHERE l.token_hash = begin_console_session.token_hash RETURNING l.* INTO v_login;
    IF NOT FOUND OR v_login.expires_at <= v_now THEN
        RETURN;
    END IF;
    INSERT INTO appstore.console_sessions AS s (session_hash, person, role, shows_bodies, began_at, expires_at)
    VALUES (begin_console_session.session_hash, v_login.person, v_login.role, v_login.shows_bodies, v_now, v_now + interval '12 hours')
    RETURNING s.* INTO v_session;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    VALUES (v_now, v_login.person, 'begin_console_session', '{}',
            jsonb_build_object('session_id', v_session.session_id, 'role', v_session.role));
    RETURN QUERY SELECT v_session.session_id, v_session.person, v_session.role, v_session.shows_bodies, v_session.expires_at;
END
$$;
COMMENT ON FUNCTION appstore.begin_console_session IS
    'Begins the session of a link. Returns no row when the link is unknown, was used already or is older than 60 seconds.';

CREATE OR REPLACE FUNCTION appstore.console_session(session_hash bytea)
RETURNS TABLE (session_id bigint, person text, role text, shows_bodies boolean, expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.session_id, s.person, s.role, s.shows_bodies AND appstore.has_console_role(s.person, 'bodies'), s.expires_at
    FROM appstore.console_sessions AS s
    WHERE s.session_hash = console_session.session_hash AND s.ended_at IS NULL AND s.expires_at > clock_timestamp()
      AND appstore.has_console_role(s.person, s.role)
$$;
COMMENT ON FUNCTION appstore.console_session IS
    'The session of a cookie; no row when there is none, it has ended, or the person has lost the role since.';

CREATE OR REPLACE FUNCTION appstore.log_out_of_console(session_hash bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH ended AS (
        UPDATE appstore.console_sessions AS s SET ended_at = clock_timestamp(), ended_by = s.person
        WHERE s.session_hash = log_out_of_console.session_hash AND s.ended_at IS NULL AND s.expires_at > clock_timestamp()
        RETURNING s.session_id, s.person, s.ended_at
    )
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
    SELECT e.ended_at, e.person, 'log_out_of_console', '{}', jsonb_build_object('session_id', e.session_id) FROM ended AS e
$$;
COMMENT ON FUNCTION appstore.log_out_of_console IS 'Ends the session of a cookie.';

CREATE OR REPLACE FUNCTION appstore.end_console_session(session_id bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_person text;
BEGIN
    UPDATE appstore.console_sessions AS s SET ended_at = v_now, ended_by = appstore.actor()
    WHERE s.session_id = end_console_session.session_id AND s.ended_at IS NULL AND s.expires_at > v_now
    RETURNING s.person INTO v_person;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
    VALUES (v_now, appstore.actor(), 'end_console_session', '{}', v_person, jsonb_build_object('session_id', end_console_session.session_id));
    RETURN true;
END
$$;
COMMENT ON FUNCTION appstore.end_console_session IS 'Ends a session of the console. Returns false when there is none that lives.';
