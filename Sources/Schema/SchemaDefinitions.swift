import Logging
import Postgres
import SQL

/// Functions, views and privileges.
extension SchemaMigrator {
    /// The files in order of creation.
    private var definitions: [SchemaFile] { manifest.functions + manifest.views + [manifest.grants] }

    /// Whether a file differs from the applied one, or an object from the one that the file creates.
    func isOutdated() async throws -> Bool {
        guard try await changedDefinitions().isEmpty else { return true }
        return try await compare()?.concernsDefinitions == true
    }

    /// The names of the files that differ from the applied ones, including applied files that no longer exist.
    private func changedDefinitions() async throws -> [String] {
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

    /// Runs all files, in the caller's transaction: replaces the functions, views and triggers that can be replaced, and makes the others anew.
    /// So a view of another schema stays, unless it depends on an object that PostgreSQL cannot replace.
    ///
    /// Concurrent calls wait for the commit or see the earlier definitions; sessions discard their cached plans.
    func define() async throws {
        let rows = try await connection.query("SELECT unnest(objects) AS object FROM appstore.schema_definitions")
        let former: [String] = try rows.map { try $0.decode("object") }
        try await connection.runScript("DELETE FROM appstore.schema_definitions; SET LOCAL check_function_bodies = off")
        for file in manifest.functions { try await replace(file, former) }
        // An overload that no file makes any more would make calls in views ambiguous.
        try await drop(unmade(former.filter { !$0.hasPrefix("VIEW ") }), former)
        for file in manifest.views { try await replace(file, former) }
        try await drop(unmade(former), former)
        try await connection.execute(Self.recordObjects)
        try await replace(manifest.grants, [])
        try await naming(SchemaFile(name: "functions, views and privileges", text: "")) {
            try await connection.runScript(Self.validateScript)
        }
    }

    /// Runs a file and records it, in a subtransaction: the row of the file has the `xmin` of the objects that it makes.
    private func replace(_ file: SchemaFile, _ former: [String]) async throws {
        try await connection.runScript("SAVEPOINT file")
        do {
            try await run(file)
        } catch let error as SchemaError where error.cause?.sqlState.map(Self.cannotReplace.contains) == true {
            try await connection.runScript("ROLLBACK TO SAVEPOINT file")
            let hindrances = try await unmade(former, namedIn: file)
            guard !hindrances.isEmpty else { throw error }
            try await drop(hindrances, former)
            try await run(file)
        }
        try await connection.execute(
            "INSERT INTO appstore.schema_definitions (name, digest, objects) VALUES (\(file.name), sha256(convert_to(\(file.text), 'UTF8')), '{}')"
        )
        try await connection.runScript("RELEASE SAVEPOINT file")
    }

    /// The states of CREATE OR REPLACE for a function with another result or other names of arguments, for a view that lacks a column or has
    /// one of another type, and for a procedure that was a function; and of COMMENT for a function that has other arguments than before, so that
    /// there are two of its name.
    private static let cannotReplace: Set<SQLState> = [
        .invalidFunctionDefinition, .invalidTableDefinition, .wrongObjectType, .ambiguousFunction,
    ]

    /// Which of the objects exist without being made by a file of this run.
    ///
    /// - Parameter file: only those that this file creates by their names.
    private func unmade(_ former: [String], namedIn file: SchemaFile? = nil) async throws -> [String] {
        try await connection.query(
            """
            WITH \(unsafeRaw: Self.objects)
            SELECT o.object FROM objects AS o
            WHERE o.object = ANY (\(former)) AND o.writer NOT IN (SELECT d.xmin FROM appstore.schema_definitions AS d)
              AND coalesce(\(file?.text) ~ ('\\mCREATE OR REPLACE \\w+ ' || replace(substring(o.object, ' ([^ (]+)'), '.', '\\.') || '\\M'), true)
            """
        ).map { try $0.decode("object") }
    }

    /// Drops objects, with what else of the schema depends on them, which later files make again.
    ///
    /// - Throws: ``SchemaError`` when an object that no file makes depends on them.
    private func drop(_ objects: [String], _ former: [String]) async throws {
        guard !objects.isEmpty else { return }
        let foreign = try await dependents(of: objects, except: former)
        guard foreign.isEmpty else {
            throw SchemaError(
                .hasDependents,
                """
                these have to be dropped: \(objects.map { $0.lowercased() }.joined(separator: ", ")); \
                these depend on them: \(foreign.joined(separator: ", ")); nothing is changed: \(Self.remedy)
                """
            )
        }
        for object in objects {
            let (kind, name) = (object.prefix { $0 != " " }, object.drop { $0 != " " })
            try await connection.runScript("DROP \(kind) IF EXISTS\(name) CASCADE")
        }
    }

    /// What depends on the objects directly or through others, except for the objects that the files make.
    private func dependents(of objects: [String], except former: [String]) async throws -> [String] {
        try await connection.query(
            """
            WITH RECURSIVE \(unsafeRaw: Self.objects),
            affected (classid, objid) AS (
                SELECT o.classid, o.objid FROM objects AS o WHERE o.object = ANY (\(objects))
                UNION
                SELECT CASE WHEN w.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END, coalesce(w.ev_class, d.objid)
                FROM affected AS a
                JOIN pg_catalog.pg_depend AS d ON (d.refclassid, d.refobjid) = (a.classid, a.objid)
                -- A view depends on what its rule depends on. Any other rule is an object of its own.
                LEFT JOIN pg_catalog.pg_rewrite AS w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid AND w.rulename = '_RETURN'
            )
            SELECT DISTINCT pg_describe_object(a.classid, a.objid, 0) AS object
            FROM affected AS a LEFT JOIN objects AS o ON (o.classid, o.objid) = (a.classid, a.objid) AND o.object = ANY (\(former))
            -- The type of a view's rows, and their default values, are parts of the view.
            WHERE o.object IS NULL AND a.classid <> 'pg_type'::regclass
              AND NOT EXISTS (SELECT FROM pg_catalog.pg_attrdef AS v JOIN objects AS w ON (w.classid, w.objid) = ('pg_class'::regclass, v.adrelid)
                              WHERE a.classid = 'pg_attrdef'::regclass AND v.oid = a.objid)
            ORDER BY object
            """
        ).map { try $0.decode("object") }
    }

    /// A part of a query: the functions, views and triggers of the schema, as DROP takes them.
    private static let objects = """
        objects (classid, objid, writer, object) AS (
            SELECT 'pg_proc'::regclass, p.oid, p.xmin, 'ROUTINE ' || p.oid::regprocedure
            FROM pg_catalog.pg_proc AS p WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
            UNION ALL
            SELECT 'pg_class'::regclass, c.oid, c.xmin, 'VIEW ' || c.oid::regclass
            FROM pg_catalog.pg_class AS c WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND c.relkind = 'v'
            UNION ALL
            SELECT 'pg_trigger'::regclass, t.oid, t.xmin, format('TRIGGER %I ON %s', t.tgname, c.oid::regclass)
            FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
            WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace) AND NOT t.tgisinternal
        )
        """

    private static let recordObjects: Statement = """
        WITH \(unsafeRaw: objects)
        UPDATE appstore.schema_definitions AS d
        SET objects = coalesce((SELECT array_agg(o.object ORDER BY o.objid) FROM objects AS o WHERE o.writer = d.xmin), '{}')
        """

    /// Replaces the bodies of views by constants, so that steps may change what the views read. The views stay, with what depends on them.
    func emptyViews() async throws {
        try await connection.runScript(
            """
            DO $empty$
            DECLARE
                v_view text;
            BEGIN
                FOR v_view IN SELECT format('CREATE OR REPLACE VIEW %s AS SELECT %s', c.oid::regclass, string_agg(
                                  format('NULL::%s%s AS %I', format_type(a.atttypid, a.atttypmod),
                                         ' COLLATE ' || nullif(a.attcollation, t.typcollation)::regcollation, a.attname), ', ' ORDER BY a.attnum))
                              FROM pg_catalog.pg_class AS c
                              JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
                              JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
                              WHERE c.relkind = 'v' AND 'VIEW ' || c.oid::regclass IN (SELECT unnest(d.objects) FROM appstore.schema_definitions AS d)
                              GROUP BY c.oid LOOP
                    EXECUTE v_view;
                END LOOP;
            END
            $empty$
            """
        )
    }

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
}

/// Privileges that roles of others have on the schema's objects. PostgreSQL keeps them on an object that is replaced, and drops them with it.
extension SchemaMigrator {
    /// A privilege that a role has on an object of the schema.
    struct ForeignGrant: Hashable {
        /// `TABLE`, for views, too, or `SEQUENCE`, `ROUTINE`.
        let kind: String
        /// As GRANT takes it: `appstore.payments`, `appstore.forget(text,text)`.
        let object: String
        let column: String?
        let privilege: String
        let grantee: String
        let isGrantable: Bool
    }

    /// The privileges of all roles but the program's.
    func foreignGrants() async throws -> Set<ForeignGrant> {
        let rows = try await connection.query(
            """
            SELECT g.kind, g.object, g.column_name, g.privilege_type, r.rolname::text AS grantee, g.is_grantable
            FROM (
                SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind, c.oid::regclass::text AS object, NULL AS column_name, acl.*
                FROM pg_catalog.pg_class AS c, aclexplode(c.relacl) AS acl
                WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
                UNION ALL
                SELECT 'TABLE', c.oid::regclass::text, a.attname, acl.*
                FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped, aclexplode(a.attacl) AS acl
                WHERE c.relnamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
                UNION ALL
                SELECT 'ROUTINE', p.oid::regprocedure::text, NULL, acl.*
                FROM pg_catalog.pg_proc AS p, aclexplode(p.proacl) AS acl
                WHERE p.pronamespace IN ('appstore'::regnamespace, 'appstore_reports'::regnamespace)
            ) AS g JOIN pg_catalog.pg_roles AS r ON r.oid = g.grantee
            WHERE r.rolname <> ALL (\(Self.roles))
            """
        )
        return Set(
            try rows.map { row in
                ForeignGrant(
                    kind: try row.decode("kind"),
                    object: try row.decode("object"),
                    column: try row.decode("column_name"),
                    privilege: try row.decode("privilege_type"),
                    grantee: try row.decode("grantee"),
                    isGrantable: try row.decode("is_grantable")
                )
            }
        )
    }

    /// Grants again what roles of others have lost with a dropped object that was made again.
    ///
    /// - Parameter grants: those before. A function whose arguments have changed counts as the same if no other has its name.
    func restore(_ grants: Set<ForeignGrant>) async throws {
        for grant in grants.subtracting(try await foreignGrants()) {
            let rows = try await connection.query(
                """
                SELECT format('GRANT %s%s ON %s %s TO %I%s', \(grant.privilege), ' (' || quote_ident(\(grant.column)) || ')', \(grant.kind), found.object,
                              \(grant.grantee), CASE WHEN \(grant.isGrantable) THEN ' WITH GRANT OPTION' ELSE '' END) AS script
                FROM (SELECT to_regclass(\(grant.object))::text WHERE \(grant.kind) <> 'ROUTINE'
                      UNION ALL
                      -- Before 16 to_regprocedure fails where a type of an argument is gone.
                      SELECT coalesce((SELECT p.oid::regprocedure FROM pg_catalog.pg_proc AS p WHERE p.oid::regprocedure::text = \(grant.object)),
                                      to_regproc(split_part(\(grant.object), '(', 1))::oid::regprocedure)::text
                      WHERE \(grant.kind) = 'ROUTINE') AS found (object)
                WHERE found.object IS NOT NULL
                  AND (\(grant.column)::text IS NULL
                       OR EXISTS (SELECT FROM pg_catalog.pg_attribute AS a
                                  WHERE a.attrelid = to_regclass(\(grant.object)) AND a.attname = \(grant.column) AND NOT a.attisdropped))
                """
            )
            for row in rows { try await connection.runScript(try row.decode("script")) }
        }
    }
}

extension SchemaMigrator {
    /// The major versions of PostgreSQL on which the program's fingerprint is proven.
    private static let majors: ClosedRange<Int32> = 15...18

    /// The differences between the database's schema and the one that the program creates; nil where this release does not know the server's
    /// major version of PostgreSQL, which may print definitions differently.
    package func compare() async throws -> SchemaComparison? {
        let rows = try await connection.query(
            """
            SELECT current_setting('server_version_num')::integer / 10000 AS major,
                   to_regprocedure('appstore.schema_fingerprint()') IS NOT NULL AS has_function
            """
        )
        guard try Self.majors.contains(rows[0].decode("major")) else { return nil }
        guard try rows[0].decode("has_function") else {
            return SchemaComparison(expected: ["function appstore.schema_fingerprint()": ""], found: [:])
        }
        var found: [String: String] = [:]
        for row in try await connection.query("SELECT object, digest FROM appstore.schema_fingerprint()") {
            found[try row.decode("object")] = try row.decode("digest", as: String.self)
        }
        return SchemaComparison(expected: manifest.fingerprint.digests, found: found)
    }

    /// A line for each difference between the database's schema and the one that the program creates; changes nothing.
    package func differences() async throws -> [String] {
        let version = try await version()
        guard version > 0 else { return ["the database has no schema of appstore-inbox"] }
        guard version == manifest.version else { return ["the schema has version \(version), this program makes \(manifest.version)"] }
        let changedFiles = try await changedDefinitions().map { "different: sql/\($0).sql" }
        guard let comparison = try await compare() else {
            logger.warning("this release does not know this major version of PostgreSQL: only the files of definitions are compared")
            return changedFiles
        }
        return comparison.lines + changedFiles
    }

    /// Throws when an object of the program is missing or different. Others are the operator's.
    func requireOwnObjects() async throws {
        guard let comparison = try await compare() else {
            return logger.warning("this release does not know this major version of PostgreSQL: the schema is not compared")
        }
        guard !comparison.defects.isEmpty else { return }
        throw SchemaError(
            .different,
            """
            nothing is changed, because the schema would not be what this program makes: \(comparison.defects.joined(separator: ", ")); \
            undo changes by hand of these objects, then run migrate again
            """
        )
    }
}

/// The differences between a database's schema and the one that the program creates, by the names of the objects.
package struct SchemaComparison: Hashable, Sendable {
    /// Objects that the program creates and the database lacks.
    package private(set) var missing: [String] = []
    /// Objects with another definition in the database.
    package private(set) var different: [String] = []
    /// Objects that the program does not create.
    package private(set) var unknown: [String] = []

    package var isEmpty: Bool { missing.isEmpty && different.isEmpty && unknown.isEmpty }

    /// The missing and different objects, without which the program may not work: a line for each. Settings of a table's storage are the
    /// operator's to choose, as are objects that the program does not create.
    package var defects: [String] {
        (missing.map { "missing: \($0)" } + different.map { "different: \($0)" }).filter { !$0.contains(": settings of ") }
    }

    /// Whether replacing functions, views and privileges may help.
    fileprivate var concernsDefinitions: Bool {
        (missing + different).contains { object in
            ["function ", "aggregate ", "view ", "trigger ", "privileges "].contains { object.hasPrefix($0) }
        }
            || unknown.contains { $0.hasPrefix("privileges ") }
    }

    /// Compares the digests of objects.
    fileprivate init(expected: [String: String], found: [String: String]) {
        for (object, digest) in expected {
            guard let other = found[object] else {
                missing.append(object)
                continue
            }
            if other != digest { different.append(object) }
        }
        unknown = found.keys.filter { expected[$0] == nil }.sorted()
        missing.sort()
        different.sort()
    }

    /// A line for each object.
    package var lines: [String] {
        missing.map { "missing: \($0)" } + different.map { "different: \($0)" } + unknown.map { "unknown: \($0)" }
    }
}

extension SchemaComparison: CustomStringConvertible {
    package var description: String { lines.joined(separator: ", ") }
}
