CREATE OR REPLACE FUNCTION appstore.publish_feed(with_users boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_columns text := (
        SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute AS a
        WHERE a.attrelid = 'appstore.feed'::regclass AND a.attnum > 0 AND NOT a.attisdropped
          AND (with_users OR a.attname NOT IN ('user_id', 'from_user_id')));
    v_table   text := format('TABLE appstore.feed (%s)', v_columns);
    v_filter  text := (SELECT p.rowfilter FROM pg_publication_tables AS p WHERE p.pubname = 'appstore_feed' LIMIT 1);
    v_options text := '(publish = ''insert'', publish_via_partition_root = true)';
BEGIN
    IF EXISTS (SELECT FROM pg_publication AS p WHERE p.pubname = 'appstore_feed') THEN
        EXECUTE format('ALTER PUBLICATION appstore_feed SET %s%s', v_table, ' WHERE (' || v_filter || ')');
        EXECUTE format('ALTER PUBLICATION appstore_feed SET %s', v_options);
    ELSE
        EXECUTE format('CREATE PUBLICATION appstore_feed FOR %s WITH %s', v_table, v_options);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.publish_feed IS
    'Makes the publication appstore_feed of the inserts into appstore.feed, or brings its columns and options up to date; a row filter stays. '
    'Users are left out unless with_users: appstore.forget cannot reach copies. Called by migrate --publication, as the owner.';
