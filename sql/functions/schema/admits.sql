-- A daemon calls this in each connection before it uses it.
CREATE FUNCTION appstore.admits(contract integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM appstore.fence AS f WHERE f.contract = admits.contract);
END
$$;
COMMENT ON FUNCTION appstore.admits IS 'Whether programs that were built for this contract can use the database.';
