import Logging
import Postgres
import SQL

extension SchemaMigrator {
    /// Functions, views and privileges, in order of creation.
    private var definitions: [SchemaFile] { manifest.functions + manifest.views + [manifest.grants] }

    /// Replaces all functions, views and privileges in one transaction, if one of them differs from this program's.
    ///
    /// Concurrent calls wait for the commit or see the earlier definitions; sessions discard their cached plans.
    ///
    /// - Returns: Whether they were replaced.
    func define() async throws -> Bool {
        guard try await isOutdated() else { return false }
        do {
            try await transaction("functions, views and privileges") {
                let before = try await fingerprint()
                try await connection.runScript(Self.dropScript)
                try await connection.runScript("SET LOCAL check_function_bodies = off")
                for (position, file) in definitions.enumerated() {
                    try await run(file)
                    try await record(file, at: position)
                }
                try await connection.runScript(Self.validateScript)
                try await recordFingerprint(since: before)
            }
        } catch let error as SchemaError where error.cause?.sqlState == .dependentObjectsStillExist {
            throw SchemaError(
                .hasDependents,
                """
                functions and views have to be replaced, and these depend on them: \(try await dependents()); \
                drop them, run migrate, and make them again
                """,
                cause: error.cause
            )
        }
        logger.notice("functions, views and privileges replaced", metadata: ["schema.files": "\(definitions.count)"])
        return true
    }

    /// Whether a file differs from the applied one, or an object from the one that the file creates.
    func isOutdated() async throws -> Bool {
        guard try await changedDefinitions().isEmpty else { return true }
        return try await compare()?.concernsDefinitions == true
    }

    /// The names of the files that differ from the applied ones, including applied files that no longer exist.
    func changedDefinitions() async throws -> [String] {
        let rows = try await connection.query(
            """
            SELECT name FROM unnest(\(definitions.map(\.name)), \(definitions.map(\.text))) AS f (name, text)
            FULL JOIN appstore.schema_definitions AS d USING (name)
            WHERE d.digest IS DISTINCT FROM sha256(convert_to(f.text, 'UTF8'))
            ORDER BY name
            """
        )
        return try rows.map { try $0.decode("name") }
    }

    /// Records the objects that the file has created: the functions, views and triggers of this transaction that no earlier file has created.
    private func record(_ file: SchemaFile, at position: Int) async throws {
        try await connection.execute(
            """
            INSERT INTO appstore.schema_definitions (name, position, digest, objects)
            SELECT \(file.name), \(Int32(position)), sha256(convert_to(\(file.text), 'UTF8')),
                   coalesce(array_agg(made.object ORDER BY made.oid), '{}')
            FROM (
                SELECT p.oid, p.xmin, 'ROUTINE ' || p.oid::regprocedure AS object
                FROM pg_catalog.pg_proc AS p WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
                UNION ALL
                SELECT c.oid, c.xmin, 'VIEW ' || c.oid::regclass
                FROM pg_catalog.pg_class AS c WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind = 'v'
                UNION ALL
                SELECT t.oid, t.xmin, format('TRIGGER %I ON %s', t.tgname, c.oid::regclass)
                FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
                WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND NOT t.tgisinternal
            ) AS made
            -- GRANT and REVOKE write rows of the catalogue, too.
            WHERE made.xmin = pg_current_xact_id()::xid AND \(file.name != manifest.grants.name)
              AND NOT EXISTS (SELECT FROM appstore.schema_definitions AS d WHERE made.object = ANY (d.objects))
            """
        )
    }

    private static let dropScript = """
        DO $drop$
        DECLARE
            v_object text;
        BEGIN
            FOR v_object IN SELECT o.object FROM appstore.schema_definitions AS d, unnest(d.objects) WITH ORDINALITY AS o (object, place)
                            ORDER BY d.position DESC, o.place DESC LOOP
                EXECUTE 'DROP ' || regexp_replace(v_object, ' ', ' IF EXISTS ');
            END LOOP;
            DELETE FROM appstore.schema_definitions;
        END
        $drop$
        """

    /// Checks the bodies of all functions, after every object that they may name exists.
    private static let validateScript = """
        SET LOCAL check_function_bodies = on;
        DO $validate$
        DECLARE
            v_routine record;
        BEGIN
            FOR v_routine IN SELECT p.oid, l.lanname FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang
                             WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND p.prokind IN ('f', 'p') LOOP
                CASE v_routine.lanname
                    WHEN 'sql' THEN PERFORM pg_catalog.fmgr_sql_validator(v_routine.oid);
                    WHEN 'plpgsql' THEN PERFORM pg_catalog.plpgsql_validator(v_routine.oid);
                END CASE;
            END LOOP;
        EXCEPTION WHEN OTHERS THEN
            RAISE EXCEPTION '%: %', v_routine.oid::regprocedure, SQLERRM USING ERRCODE = SQLSTATE;
        END
        $validate$
        """

    /// The objects outside the schema that depend on its functions and views.
    private func dependents() async throws -> String {
        let rows = try await connection.query(
            """
            SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid) AS object
            FROM pg_catalog.pg_depend AS d
            LEFT JOIN pg_catalog.pg_rewrite AS r ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid
            LEFT JOIN pg_catalog.pg_class AS v ON v.oid = r.ev_class
            WHERE d.deptype = 'n'
              AND (d.refclassid = 'pg_catalog.pg_class'::regclass
                   AND EXISTS (SELECT FROM pg_catalog.pg_class AS c
                               WHERE c.oid = d.refobjid AND c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind = 'v')
                   OR d.refclassid = 'pg_catalog.pg_proc'::regclass
                   AND EXISTS (SELECT FROM pg_catalog.pg_proc AS p
                               WHERE p.oid = d.refobjid AND p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)))
              AND coalesce(v.relnamespace::regnamespace::text, (pg_identify_object(d.classid, d.objid, d.objsubid)).schema)
                  NOT IN ('appstore', 'appstore_reports')
            ORDER BY object
            """
        )
        return try rows.map { try $0.decode("object", as: String.self) }.joined(separator: ", ")
    }
}
