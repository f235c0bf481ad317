-- A subscription that an app moves to the Advanced Commerce API gets another originalTransactionId, and its transactions name the one before
-- (appstoreservernotifications/previousoriginaltransactionid). What was claimed of a contract is claimed of that to which it has migrated.

CREATE OR REPLACE FUNCTION appstore.record_migrations(p_environment appstore.environment, p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_contract text;
    v_known    text[];
    v_stated   text[];
BEGIN
    FOR v_contract, v_known, v_stated IN
        SELECT m.original_transaction_id, m.migrated_from, stated.ids
        FROM appstore.contracts AS m
        CROSS JOIN LATERAL (
            SELECT array_agg(DISTINCT t.previous_original_transaction_id ORDER BY t.previous_original_transaction_id) AS ids
            FROM appstore.transactions AS t
            WHERE t.original_transaction_id = m.original_transaction_id AND t.environment = p_environment
              AND t.previous_original_transaction_id <> m.original_transaction_id
        ) AS stated
        WHERE m.original_transaction_id = ANY (p_contracts) AND m.environment = p_environment AND m.migrated_from IS DISTINCT FROM stated.ids
    LOOP
        UPDATE appstore.contracts AS m SET migrated_from = v_stated
        WHERE m.original_transaction_id = v_contract AND m.environment = p_environment;
        UPDATE appstore.contracts AS m
        SET migrated_to = CASE WHEN m.original_transaction_id = ANY (v_stated)
                               THEN ARRAY(SELECT unnest(m.migrated_to) UNION SELECT v_contract COLLATE "C" ORDER BY 1)
                               ELSE nullif(array_remove(m.migrated_to, v_contract), '{}') END
        WHERE m.original_transaction_id = ANY (v_known || v_stated) AND m.environment = p_environment;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.record_migrations IS
    'Brings up to date from which contracts these have migrated, and to which the others. The rows of all of them are locked.';

CREATE OR REPLACE FUNCTION appstore.with_migrated(
    p_environment appstore.environment, p_contracts text[], p_earlier boolean, p_later boolean)
RETURNS text[]
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE reached AS (
        SELECT unnest(p_contracts) COLLATE "C" AS id
        UNION
        SELECT other.id
        FROM reached CROSS JOIN LATERAL (
            SELECT unnest(CASE WHEN p_earlier THEN m.migrated_from END || CASE WHEN p_later THEN m.migrated_to END) AS id
            FROM appstore.contracts AS m
            WHERE m.original_transaction_id = reached.id AND m.environment = p_environment OFFSET 0
        ) AS other
    )
    SELECT ARRAY(SELECT reached.id FROM reached ORDER BY reached.id)
$$;
COMMENT ON FUNCTION appstore.with_migrated IS
    'These contracts and those from which (p_earlier) or to which (p_later) they have migrated, at once or one by one; sorted, each once.';
