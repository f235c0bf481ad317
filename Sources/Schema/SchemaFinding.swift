package import Postgres

/// A database that a command can work with.
package struct SchemaFinding: Sendable {
    /// The version of the schema; later than the expected one where its contract is the same.
    package let version: Int
    package let database: String
    /// The role as which statements run.
    package let role: String
    private let isSuperuser: Bool
    private let isMember: Bool

    /// Asks on a connection, in one round trip where all is well.
    ///
    /// - Throws: ``SchemaError`` with what to do when the command cannot work, else the connection's error.
    package init(_ expected: SchemaExpectation, _ connection: Connection) async throws {
        let answers: [Rows]
        do {
            answers = try await connection.pipeline([Self.catalogue(expected), Self.versions])
        } catch let error as PostgresError where error.lacksSchema {
            let row = try await connection.query(Self.catalogue(expected))[0]
            try Self.requireSchema(row)
            throw try row.decode("may_execute") ? error : Self.wrongRole(row, expected)
        }
        let row = answers[0][0]
        try Self.requireSchema(row)
        version = try Self.version(answers[1][0], expected)
        guard try row.decode("may_execute") else { throw try Self.wrongRole(row, expected) }
        let login: String = try row.decode("login")
        guard !expected.isLogin || login == expected.role else {
            throw SchemaError(.wrongRole, "the login is \(login), which the audit would name for each person: log in as \(expected.role)")
        }
        (database, role) = (try row.decode("database"), try row.decode("role"))
        (isSuperuser, isMember) = (try row.decode("is_superuser"), try row.decode("is_member"))
    }

    /// What an operator should change although the command can work.
    package func warning(_ expected: SchemaExpectation) -> String? {
        if isSuperuser {
            return "\(role) is a superuser: connect as \(expected.role), which may do only what is needed and has its own timeouts"
        }
        return isMember ? nil : "\(role) is not \(expected.role), the role for this command, and may do more than is needed"
    }

    private static func requireSchema(_ row: Row) throws {
        guard try row.decode("has_schema") else {
            throw SchemaError(.schemaMissing, "the database has no schema appstore: run `appstore-inbox migrate`")
        }
        guard try row.decode("has_history") else { throw SchemaError.unknownSchema }
    }

    private static func wrongRole(_ row: Row, _ expected: SchemaExpectation) throws -> SchemaError {
        if try row.decode("is_member"), try !row.decode("is_superuser") {
            return SchemaError(.schemaMissing, "the schema appstore is not complete: run `appstore-inbox migrate`, or wait for its end")
        }
        return SchemaError(
            .wrongRole,
            "the role \(try row.decode("role", as: String.self)) may not do what is needed: connect as \(expected.role)"
        )
    }

    private static func version(_ row: Row, _ expected: SchemaExpectation) throws -> Int {
        let version = Int(try row.decode("version", as: Int32.self))
        let contract = try row.decode("contract", as: Int32.self)
        let versions = "the schema is version \(version), this program knows \(expected.version)"
        if contract > expected.contract {
            throw SchemaError(.databaseIsNewer, "\(versions) and cannot work with a change since then: update the program")
        }
        guard contract == expected.contract, version >= expected.version else {
            throw SchemaError(.schemaIsOlder, "\(versions): run `appstore-inbox migrate`")
        }
        return version
    }

    private static let versions = Statement(
        name: "schema_versions",
        """
        SELECT coalesce((SELECT max(h.version) FROM appstore.schema_history AS h), 0) AS version,
               coalesce((SELECT f.contract FROM appstore.fence AS f), 0) AS contract
        """
    )

    /// Reads only catalogues, which every role may do.
    private static func catalogue(_ expected: SchemaExpectation) -> Statement {
        Statement(
            name: "schema_role",
            """
            SELECT current_database()::text AS database, current_user::text AS role, session_user::text AS login,
                   n.oid IS NOT NULL AS has_schema,
                   EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid AND c.relname = 'schema_history') AS has_history,
                   coalesce(pg_catalog.has_schema_privilege(n.oid, 'USAGE'), false)
                   AND coalesce((SELECT bool_or(pg_catalog.has_function_privilege(p.oid, 'EXECUTE')) FROM pg_catalog.pg_proc AS p
                                 WHERE p.pronamespace = n.oid AND p.proname = \(expected.function)), false) AS may_execute,
                   coalesce((SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user), false) AS is_superuser,
                   EXISTS (SELECT FROM pg_catalog.pg_roles AS r
                           WHERE r.rolname = \(expected.role) AND pg_catalog.pg_has_role(r.oid, 'USAGE')) AS is_member
            FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = 'appstore'
            """
        )
    }
}

extension PostgresError {
    /// Whether a schema, table or column does not exist or may not be read.
    fileprivate var lacksSchema: Bool {
        sqlState == .invalidSchemaName || sqlState == .undefinedTable || sqlState == .insufficientPrivilege
    }
}
