-- plpgsql: only registers of which few statements come use it.
CREATE OR REPLACE FUNCTION appstore.join_statements(t anyelement, other anyelement, members text[]) RETURNS anyelement
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET bytea_output = 'hex' AS $$
DECLARE
    v_own       jsonb := to_jsonb(t);
    v_other     jsonb := to_jsonb(other);
    v_own_at    jsonb := appstore.statement_version(v_own);
    v_other_at  jsonb := appstore.statement_version(v_other);
    v_is_newer  boolean := appstore.is_later_version(v_other_at, v_own_at);
    v_newest    jsonb := CASE WHEN v_is_newer THEN v_other_at ELSE v_own_at END;
    v_member    text;
    v_version   jsonb;
    v_from      jsonb;
    v_to        jsonb;
    v_members   jsonb := '{}';
    v_known     jsonb := '{}';
BEGIN
    FOREACH v_member IN ARRAY members LOOP
        -- 1. The newest statement of each that has the member; null where none has.
        v_from := CASE WHEN v_own ->> v_member IS NOT NULL THEN coalesce(v_own -> 'known' -> v_member, v_own_at) END;
        v_to := CASE WHEN v_other ->> v_member IS NOT NULL THEN coalesce(v_other -> 'known' -> v_member, v_other_at) END;
        IF appstore.is_later_version(v_to, v_from) THEN
            v_members := v_members || jsonb_build_object(v_member, v_other -> v_member);
            v_version := v_to;
        ELSE
            v_members := v_members || jsonb_build_object(v_member, v_own -> v_member);
            v_version := v_from;
        END IF;
        -- 2. Only what is not the newest statement's is noted.
        IF v_version IS DISTINCT FROM v_newest AND v_version IS NOT NULL THEN
            v_known := v_known || jsonb_build_object(v_member, v_version);
        END IF;
    END LOOP;
    RETURN jsonb_populate_record(CASE WHEN v_is_newer THEN other ELSE t END, v_members || jsonb_build_object('known', nullif(v_known, '{}')));
END
$$;
COMMENT ON FUNCTION appstore.join_statements IS
    'Two rows of a register whose statements have a signed_date and a payload_hash, joined: the row of the newer statement, with each of these members '
    'from the newest statement that has it, as known says. Neither order nor repetition changes the result.';

CREATE OR REPLACE FUNCTION appstore.statement_version(statement jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN jsonb_build_array((extract(epoch FROM (statement ->> 'signed_date')::timestamptz) * 1000)::bigint,
                             substr(statement ->> 'payload_hash', 3));
END
$$;
COMMENT ON FUNCTION appstore.statement_version IS
    'The version of a row of a register: [signed_date in milliseconds, payload_hash in hex]. The row as appstore.join_statements has it.';

CREATE OR REPLACE FUNCTION appstore.is_later_version(version jsonb, other jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN version IS NOT NULL AND (other IS NULL OR ((version ->> 0)::bigint, decode(version ->> 1, 'hex'))
                                                     > ((other ->> 0)::bigint, decode(other ->> 1, 'hex')));
END
$$;
COMMENT ON FUNCTION appstore.is_later_version IS 'Whether a version is newer than the other: by its date, then by its hash. Null is that of no statement.';
