-- A change of appstore.products changes access without a change of the ledger.
CREATE OR REPLACE FUNCTION appstore.tell_products() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    v_changed appstore.products[];
BEGIN
    IF NOT (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        RETURN NULL;
    END IF;
    v_changed := ARRAY(SELECT ROW(p.*)::appstore.products FROM changed AS p);
    IF TG_OP = 'UPDATE' THEN
        v_changed := v_changed || ARRAY(SELECT ROW(p.*)::appstore.products FROM before AS p);
    END IF;
    IF cardinality(v_changed) = 0 THEN
        RETURN NULL;
    END IF;
    -- Until the commit no step reads products as they were: what is derived meanwhile, and not found here, is told after it.
    PERFORM FROM appstore.feed_head FOR UPDATE;
    INSERT INTO appstore.tells (kind, environment, ref)
    SELECT 'contract', m.environment, m.original_transaction_id
    FROM appstore.contracts AS m
    WHERE m.user_id IS NOT NULL AND (m.product_id, m.bundle_id) IN (SELECT p.product_id, p.bundle_id FROM unnest(v_changed) AS p);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION appstore.tell_products IS
    'Where the feed is on, writes a tell for each contract that has an owner and one of the products that a statement has changed. Reads all '
    'contracts, once a statement, and holds up the sequencer until the commit.';

CREATE OR REPLACE TRIGGER products_inserted AFTER INSERT ON appstore.products REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION appstore.tell_products();
CREATE OR REPLACE TRIGGER products_updated AFTER UPDATE ON appstore.products REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION appstore.tell_products();
CREATE OR REPLACE TRIGGER products_deleted AFTER DELETE ON appstore.products REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION appstore.tell_products();
COMMENT ON TRIGGER products_inserted ON appstore.products IS 'Tells the contracts whose access changes.';
COMMENT ON TRIGGER products_updated ON appstore.products IS 'Tells the contracts whose access changes.';
COMMENT ON TRIGGER products_deleted ON appstore.products IS 'Tells the contracts whose access changes.';
