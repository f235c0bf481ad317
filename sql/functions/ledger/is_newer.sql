-- Inlined into the statements that merge registers: without a SET clause, and not strict.
CREATE OR REPLACE FUNCTION appstore.is_newer(fact_date timestamptz, fact_hash bytea, known_date timestamptz, known_hash bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT fact_date IS NOT NULL AND (known_date IS NULL OR (fact_date, fact_hash) > (known_date, known_hash))
$$;
COMMENT ON FUNCTION appstore.is_newer IS
    'Whether a fact is newer than the known one: by its date, then by its hash. A date is null where there is no fact.';
