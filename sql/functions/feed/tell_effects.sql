CREATE OR REPLACE FUNCTION appstore.tell_effects(p_environment appstore.environment, p_effect_ids uuid[], p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO appstore.tells (kind, environment, ref)
    SELECT 'effect', p_environment, new.id::text
    FROM unnest(appstore.live_effects(p_environment, p_effect_ids)) AS new (id)
    CROSS JOIN LATERAL (SELECT e.occurred_at, e.event_id FROM appstore.effect_log AS e WHERE e.effect_id = new.id OFFSET 0) AS e
    ORDER BY e.occurred_at, e.event_id, new.id;
    INSERT INTO appstore.tells (kind, environment, ref) SELECT 'contract', p_environment, contract.id FROM unnest(p_contracts) AS contract (id);
END
$$;
COMMENT ON FUNCTION appstore.tell_effects IS
    'Writes a tell for each of these effects that is news, which this transaction has recorded, and for each of these contracts, which it has derived.';
