CREATE OR REPLACE FUNCTION appstore.derive_claims(p_environment appstore.environment, p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT contract.id, c.*
        FROM unnest(p_contracts) AS contract (id) CROSS JOIN LATERAL appstore.contract_claims(p_environment, contract.id) AS c
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
    WHERE c.original_transaction_id = ANY (p_contracts) AND c.environment = p_environment
      AND NOT EXISTS (SELECT FROM wanted WHERE (wanted.id, wanted.kind, wanted.source_id) = (c.original_transaction_id, c.kind, c.source_id));
END
$$;
COMMENT ON FUNCTION appstore.derive_claims IS 'Derives the claims to these contracts.';
