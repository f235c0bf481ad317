-- A digest of each object of the schema, from the catalogue, so that a database can be compared with the schema that a program creates.
--
-- Independent of OIDs, of partitions, of the database's locale and of PostgreSQL's major version: 15 to 18 give the same digests.
-- Columns count in their order, on which casts such as ROW(…)::appstore.feed depend. Settings of storage have lines of their own, since a
-- database administrator may tune them.
CREATE OR REPLACE FUNCTION appstore.schema_fingerprint() RETURNS TABLE (object text, digest text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH relations AS MATERIALIZED (
        SELECT c.* FROM pg_class AS c
        WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND NOT c.relispartition
          AND c.relname NOT LIKE 'aged\_%' -- a partition between its detachment and its drop, and its indexes
          AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indexrelid = c.oid AND i.indrelid::regclass::text LIKE '%aged\_%')
    ), columns AS ( -- 1. the parts of tables
        SELECT a.attrelid AS oid,
               string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
                                    nullif(a.attcollation, t.typcollation)::regcollation, pg_get_expr(d.adbin, d.adrelid)),
                          E'\n' ORDER BY a.attnum) AS text,
               string_agg(concat_ws(' ', a.attname, nullif(a.attstorage, t.typstorage), nullif(a.attcompression, '')), E'\n' ORDER BY a.attnum)
                   FILTER (WHERE a.attstorage <> t.typstorage OR a.attcompression <> '') AS storage
        FROM pg_attribute AS a
        JOIN pg_type AS t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid IN (SELECT r.oid FROM relations AS r) AND a.attnum > 0 AND NOT a.attisdropped
        GROUP BY a.attrelid
    ), reads AS ( -- the columns that a view reads
        SELECT w.ev_class AS oid, string_agg(DISTINCT concat_ws('.', d.refobjid::regclass, a.attname) COLLATE "C", E'\n') AS text
        FROM pg_rewrite AS w
        JOIN pg_depend AS d ON (d.classid, d.objid, d.refclassid) = ('pg_rewrite'::regclass, w.oid, 'pg_class'::regclass) AND d.refobjid <> w.ev_class
        LEFT JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (d.refobjid, d.refobjsubid) AND d.refobjsubid <> 0
        WHERE w.ev_class IN (SELECT r.oid FROM relations AS r) AND w.rulename = '_RETURN'
        GROUP BY w.ev_class
    ), grants AS ( -- 2. privileges of the schema's own roles
        SELECT g.grantee, g.on_what || ' ' || g.privilege_type || CASE WHEN g.is_grantable THEN '*' ELSE '' END AS text
        FROM (
            SELECT 'schema ' || n.nspname AS on_what, acl.* FROM pg_namespace AS n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS acl
            WHERE n.nspname IN ('appstore', 'appstore_reports')
            UNION ALL
            SELECT r.oid::regclass::text, acl.*
            FROM relations AS r,
                 aclexplode(coalesce(r.relacl, acldefault(CASE r.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", r.relowner))) AS acl
            WHERE r.relkind IN ('r', 'p', 'v', 'S')
            UNION ALL
            SELECT r.oid::regclass || '.' || a.attname, acl.*
            FROM relations AS r JOIN pg_attribute AS a ON a.attrelid = r.oid, aclexplode(a.attacl) AS acl
            UNION ALL
            SELECT p.oid::regprocedure::text, acl.*
            FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS acl
            WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
            UNION ALL
            SELECT 'functions to come', acl.*
            FROM aclexplode(coalesce((SELECT d.defaclacl FROM pg_default_acl AS d WHERE d.defaclrole = 'appstore_owner'::regrole
                                                                                    AND d.defaclnamespace = 0 AND d.defaclobjtype = 'f'),
                                     acldefault('f', 'appstore_owner'::regrole))) AS acl
        ) AS g
    ), described (object, owner, text) AS ( -- 3. the objects
        SELECT 'schema ' || n.nspname, n.nspowner, n.nspname::text
        FROM pg_namespace AS n WHERE n.nspname IN ('appstore', 'appstore_reports')
        UNION ALL
        SELECT CASE r.relkind WHEN 'S' THEN 'sequence ' WHEN 'v' THEN 'view ' ELSE 'table ' END || r.oid::regclass, r.relowner,
               concat_ws(E'\n', r.relkind, r.relpersistence, r.relrowsecurity, r.relforcerowsecurity,
                         CASE r.relkind WHEN 'p' THEN pg_get_partkeydef(r.oid)
                                        -- From 16 on the columns of an only relation have no prefix, so none counts.
                                        WHEN 'v' THEN regexp_replace(pg_get_viewdef(r.oid), '\m(?!appstore\M|appstore_reports\M)[a-z_]\w*\.', '', 'g') END,
                         CASE r.relkind WHEN 'v' THEN (SELECT string_agg(option, ' ' ORDER BY option COLLATE "C") FROM unnest(r.reloptions) AS option) END,
                         (SELECT ROW(s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcycle)
                          FROM pg_sequence AS s WHERE s.seqrelid = r.oid),
                         CASE WHEN r.relkind <> 'S' THEN columns.text END, reads.text)
        FROM relations AS r
        LEFT JOIN columns USING (oid)
        LEFT JOIN reads USING (oid)
        WHERE r.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL
        SELECT 'settings of ' || r.oid::regclass, 'appstore_owner'::regrole, settings.text
        FROM relations AS r
        LEFT JOIN columns USING (oid)
        CROSS JOIN LATERAL (
            SELECT nullif(concat_ws(E'\n', string_agg(option, E'\n' ORDER BY option COLLATE "C"), columns.storage, nullif(r.relreplident, 'd')), '') AS text
            FROM (SELECT unnest(r.reloptions)
                  UNION ALL SELECT 'toast.' || unnest(t.reloptions) FROM pg_class AS t WHERE t.oid = r.reltoastrelid) AS options (option)
        ) AS settings
        WHERE r.relkind IN ('r', 'p') AND settings.text IS NOT NULL
        UNION ALL
        SELECT format('constraint %I on ', c.conname) || c.conrelid::regclass, 'appstore_owner'::regrole,
               concat_ws(' ', pg_get_constraintdef(c.oid), c.convalidated)
        FROM relations AS r JOIN pg_constraint AS c ON c.conrelid = r.oid
        WHERE c.contype NOT IN ('n', 't') -- NOT NULL, since 18 a constraint, and constraint triggers are in other lines
        UNION ALL
        SELECT format('trigger %I on ', t.tgname) || t.tgrelid::regclass, 'appstore_owner'::regrole, concat(pg_get_triggerdef(t.oid), t.tgenabled)
        FROM relations AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid WHERE NOT t.tgisinternal
        UNION ALL
        SELECT format('rule %I on ', w.rulename) || w.ev_class::regclass, 'appstore_owner'::regrole, concat(pg_get_ruledef(w.oid), w.ev_enabled)
        FROM relations AS r JOIN pg_rewrite AS w ON w.ev_class = r.oid WHERE w.rulename <> '_RETURN'
        UNION ALL
        SELECT format('policy %I on ', p.polname) || p.polrelid::regclass, 'appstore_owner'::regrole,
               concat_ws(E'\n', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid),
                         (SELECT string_agg(coalesce(role.rolname, 'PUBLIC'), ' ' ORDER BY role.rolname COLLATE "C")
                          FROM unnest(p.polroles) AS oid LEFT JOIN pg_roles AS role USING (oid)))
        FROM relations AS r JOIN pg_policy AS p ON p.polrelid = r.oid
        UNION ALL
        SELECT 'index ' || r.oid::regclass, 'appstore_owner'::regrole, concat_ws(' ', pg_get_indexdef(r.oid), i.indisvalid)
        FROM relations AS r JOIN pg_index AS i ON i.indexrelid = r.oid
        UNION ALL
        SELECT CASE p.prokind WHEN 'a' THEN 'aggregate ' ELSE 'function ' END || p.oid::regprocedure, p.proowner,
               CASE p.prokind WHEN 'a' THEN (SELECT ROW(a.aggtransfn, a.aggfinalfn, a.aggtranstype::regtype, a.agginitval)::text
                                             FROM pg_aggregate AS a WHERE a.aggfnoid = p.oid)
                              ELSE pg_get_functiondef(p.oid) END
        FROM pg_proc AS p WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
        UNION ALL
        SELECT 'type ' || t.oid::regtype, t.typowner,
               concat_ws(E'\n', t.typtype, nullif(t.typbasetype, 0)::regtype, t.typnotnull, t.typdefault, columns.text,
                         (SELECT string_agg(c.conname || ' ' || pg_get_constraintdef(c.oid), E'\n' ORDER BY c.conname)
                          FROM pg_constraint AS c WHERE c.contypid = t.oid AND c.contype <> 'n'),
                         (SELECT string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = t.oid))
        FROM pg_type AS t
        LEFT JOIN relations AS r ON r.oid = t.typrelid
        LEFT JOIN columns ON columns.oid = t.typrelid
        WHERE t.typnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND (t.typtype IN ('e', 'd') OR t.typtype = 'c' AND r.relkind = 'c')
        UNION ALL
        SELECT 'privileges of ' || coalesce(role.rolname, 'PUBLIC'), 'appstore_owner'::regrole,
               string_agg(grants.text, E'\n' ORDER BY grants.text COLLATE "C")
        FROM grants LEFT JOIN pg_roles AS role ON role.oid = grants.grantee
        WHERE grants.grantee = 0
           OR role.rolname IN ('appstore_ingest', 'appstore_worker', 'appstore_operator', 'appstore_viewer', 'appstore_backend',
                               'appstore_reporter', 'appstore_api', 'appstore_console', 'appstore_bodies')
        GROUP BY role.rolname
    )
    SELECT d.object, left(encode(sha256(convert_to(d.text, 'UTF8')), 'hex'), 16)
    FROM (SELECT d.object, concat_ws(E'\n', d.text, nullif(d.owner, 'appstore_owner'::regrole)::regrole) AS text FROM described AS d) AS d
    ORDER BY d.object COLLATE "C"
$$;
COMMENT ON FUNCTION appstore.schema_fingerprint IS
    'A digest of each table, index, constraint, view, function, trigger, rule, policy and type of the schema, and of each role''s privileges. appstore-inbox migrate --check '
    'compares them with those of the schema that the program creates.';
