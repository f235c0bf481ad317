CREATE OR REPLACE FUNCTION appstore.derive_claims(p_environment appstore.environment, p_contracts text[], p_migrated text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_left text[] := p_contracts;
    v_now  text[];
BEGIN
    LOOP
        -- What is stated of a contract before a migration counts for that after it: its claims are derived first. A circle, which Apple never makes, is derived at once.
        v_now := v_left;
        IF cardinality(p_migrated) > 0 THEN
            v_now := ARRAY(
                SELECT unnest(v_left) COLLATE "C"
                EXCEPT
                SELECT m.original_transaction_id FROM appstore.contracts AS m
                WHERE m.original_transaction_id = ANY (p_migrated) AND m.environment = p_environment AND m.migrated_from && v_left);
            IF v_now = '{}' THEN
                v_now := v_left;
            END IF;
        END IF;
        WITH wanted AS MATERIALIZED (
            SELECT contract.id, c.*
            FROM unnest(v_now) AS contract (id)
            CROSS JOIN LATERAL appstore.contract_claims(p_environment, contract.id, contract.id = ANY (p_migrated)) AS c
        ), made AS (
            INSERT INTO appstore.ownership_claims AS c (environment, original_transaction_id, kind, source_id, user_id, effective_at)
            SELECT p_environment, wanted.*
            FROM wanted
            WHERE NOT EXISTS (
                SELECT FROM appstore.ownership_claims AS same
                WHERE same.original_transaction_id = wanted.id AND same.environment = p_environment AND same.kind = wanted.kind
                  AND (same.source_id, same.user_id, same.effective_at) = (wanted.source_id, wanted.user_id, wanted.effective_at) OFFSET 0)
            ORDER BY wanted.id, wanted.kind, wanted.source_id
            ON CONFLICT (original_transaction_id, environment, kind, source_id) DO UPDATE
            SET user_id = excluded.user_id, effective_at = excluded.effective_at
        )
        DELETE FROM appstore.ownership_claims AS c
        WHERE c.original_transaction_id = ANY (v_now) AND c.environment = p_environment
          AND NOT EXISTS (SELECT FROM wanted WHERE (wanted.id, wanted.kind, wanted.source_id) = (c.original_transaction_id, c.kind, c.source_id));
        EXIT WHEN cardinality(v_now) = cardinality(v_left);
        v_left := ARRAY(SELECT unnest(v_left) COLLATE "C" EXCEPT SELECT unnest(v_now));
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.derive_claims IS
    'Derives the claims to these contracts. p_migrated has those that have migrated from another one, and may have others.';
