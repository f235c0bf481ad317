-- One digest of the ledger, so that two databases can be compared.

-- Needs constant memory: each link of the chain is the hash of the one before and of one row, so that row boundaries count.
CREATE OR REPLACE FUNCTION appstore.chain_link(digest bytea, line text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN sha256(digest || convert_to(line, 'UTF8'));
END
$$;
COMMENT ON FUNCTION appstore.chain_link IS 'The next link of appstore.chained_digest.';

CREATE OR REPLACE AGGREGATE appstore.chained_digest(text) (SFUNC = appstore.chain_link, STYPE = bytea, INITCOND = '');
COMMENT ON AGGREGATE appstore.chained_digest(text) IS 'A chain of SHA-256 over lines, in their order.';

CREATE OR REPLACE FUNCTION appstore.state_digest_parts(environment appstore.environment) RETURNS TABLE (part text, rows bigint, digest text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET "TimeZone" = 'UTC' SET "DateStyle" = 'ISO, YMD' SET "IntervalStyle" = 'postgres'
SET bytea_output = 'hex' SET extra_float_digits = 1 AS $$
#variable_conflict use_variable
DECLARE
    v_excluded text[];
    v_source   text;
BEGIN
    IF environment IS NULL THEN
        RAISE EXCEPTION 'environment must not be null' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Excluded are columns that depend on when and in which order events came in. Of an effect only its identity counts; of the grant of a
    -- charge whose first fact had no period, that of the period as it is known now. What an answer said first is told for its news, and is no
    -- news after the notification of the same.
    FOR part, v_excluded, v_source IN
        SELECT p.name, p.excluded, coalesce(p.source, 'appstore.' || p.name) FROM (
        VALUES ('app_transactions', '{event_id,post_event_id}'::text[], NULL),
               ('consumption_obligations', '{}'::text[], NULL),
               ('contracts', '{}', NULL),
               ('effects', '{}',
                '(SELECT e.environment, e.kind,
                         CASE WHEN e.kind = ''granted'' AND e.subject = e.transaction_id AND t.is_subscription
                              THEN coalesce(t.original_transaction_id || ''/'' || t.web_order_line_item_id, e.subject)
                              ELSE e.subject END AS subject
                  FROM appstore.effect_log AS e
                  LEFT JOIN appstore.transactions AS t ON t.transaction_id = e.transaction_id AND t.environment = e.environment
                  WHERE e.kind <> ''status_found'')'),
               ('external_purchase_tokens', '{last_event_id,first_event_id,reported_by}', NULL),
               ('orders', '{ordered_at}', NULL),
               ('ownership_claims', '{}', NULL),
               ('posted_types', '{}', NULL),
               ('refund_requests', '{left_transaction_id}', NULL),
               ('transactions', '{left_contract}', NULL),
               ('v1_renewals', '{}', NULL)
        ) AS p (name, excluded, source)
    LOOP
        EXECUTE format(
            'SELECT count(*), encode(appstore.chained_digest(sorted.line), ''hex'') '
            'FROM (SELECT (to_jsonb(t) - $2)::text COLLATE "C" AS line FROM %s AS t WHERE t.environment = $1 ORDER BY line) AS sorted',
            v_source)
        INTO rows, digest USING environment, v_excluded;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.state_digest_parts IS
    'For each table of the ledger how many rows an environment has, and a SHA-256 (hex) over them: where two databases differ. Independent of '
    'session settings, the database''s collation, and the order in which events came in.';

CREATE OR REPLACE FUNCTION appstore.state_digest(environment appstore.environment) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(string_agg(p.part || ' ' || p.rows || ' ' || p.digest, E'\n' ORDER BY p.part COLLATE "C"), 'UTF8')), 'hex')
    FROM appstore.state_digest_parts(state_digest.environment) AS p
$$;
COMMENT ON FUNCTION appstore.state_digest IS
    'One SHA-256 (hex) over the ledger of an environment: registers, orders, claims, contracts, and the identities of effects. It is of one '
    'moment, but reads and sorts everything: SET statement_timeout = 0 for a large database, and have room for temporary files of its size.';
