package import Logging
package import Postgres
package import SQL

/// Brings a database to this program's schema. Concurrent runs are serialized; the later ones find nothing to do.
package struct SchemaMigrator: Sendable {
    let connection: Connection
    let manifest: SchemaManifest
    let lockTimeout: Duration
    let logger: Logger

    /// - Parameters:
    ///   - connection: To PostgreSQL itself, not to a pooler, since the lock and the settings belong to a session. Close it after an error.
    ///   - lockTimeout: How long a statement waits for a lock. Meanwhile every later access to the table queues behind it.
    package init(
        connection: Connection,
        manifest: SchemaManifest = SchemaManifest(),
        lockTimeout: Duration = .seconds(5),
        logger: Logger
    ) {
        self.connection = connection
        self.manifest = manifest
        self.lockTimeout = lockTimeout
        self.logger = logger
    }

    /// Creates the schema, or upgrades it: applies the missing steps, and replaces functions, views and privileges if they differ.
    ///
    /// Either is one transaction, so a failed run has changed nothing. Only the indexes and enum values of steps that are marked `-- concurrently`
    /// are made before it; the next run finds them.
    ///
    /// - Throws: ``SchemaError`` when the database or the role does not permit it, or when an object of the program still differs at the end.
    package func migrate() async throws -> SchemaChanges {
        try await connection.execute("SELECT FROM pg_advisory_lock(\(Self.lockKey))")
        try await requireUTF8()
        try await ensureRoles()
        try await actAsOwner()
        let known = try await knownVersion()
        let changes = known == 0 ? try await createIfPermitted() : try await upgrade(from: known)
        try await connection.runScript("RESET ROLE; RESET ALL; SELECT pg_advisory_unlock(\(Self.lockKey));")
        return changes
    }

    /// The version of the database's schema: 0 when it has none.
    ///
    /// - Throws: ``SchemaError`` with ``SchemaError/Code/unknownSchema`` when no release of this program created the schema.
    func version() async throws -> Int {
        let rows = try await connection.query(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
                           WHERE c.relnamespace = n.oid AND c.relname = 'schema_history') AS has_history
            FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'appstore'
            """
        )
        guard let row = rows.first else { return 0 }
        guard try row.decode("has_history") else { throw SchemaError.unknownSchema }
        let versions = try await connection.query("SELECT max(version) AS version FROM appstore.schema_history")
        return Int(try versions[0].decode("version", as: Int32.self))
    }

    /// The version of the database's schema.
    ///
    /// - Throws: ``SchemaError`` when it is later than this program's.
    func knownVersion() async throws -> Int {
        let known = try await version()
        guard known <= manifest.version else {
            throw SchemaError(
                .databaseIsNewer,
                "the database has schema version \(known), this program knows \(manifest.version): update the program"
            )
        }
        return known
    }

    /// Acts as the owner of the schema from now on, with the settings that each file relies on.
    func actAsOwner() async throws {
        do {
            try await connection.runScript(sessionSettings)
        } catch let error as PostgresError where error.sqlState == .insufficientPrivilege {
            let user = try await connection.query("SELECT quote_ident(session_user) AS name")[0].decode("name", as: String.self)
            throw SchemaError(
                .notPermitted,
                "\(user) may not act as appstore_owner: run migrate as a superuser or the role that made appstore_owner, or as one of these "
                    + "GRANT appstore_owner TO \(user)",
                cause: error
            )
        }
    }

    private func createIfPermitted() async throws -> SchemaChanges {
        do {
            return try await create()
        } catch let error as SchemaError where error.cause?.sqlState == .insufficientPrivilege {
            throw SchemaError(
                .notPermitted,
                "\(error); run sql/roles.sql in this database as a superuser, which lets appstore_owner create the schema",
                cause: error.cause
            )
        }
    }

    func requireUTF8() async throws {
        let rows = try await connection.query("SELECT current_setting('server_encoding') AS encoding, current_database()::text AS name")
        let encoding = try rows[0].decode("encoding", as: String.self)
        guard encoding != "UTF8" else { return }
        throw SchemaError(
            .wrongEncoding,
            """
            database \(try rows[0].decode("name", as: String.self)) has the encoding \(encoding), and UTF8 is needed: \
            make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0
            """
        )
    }

    private func ensureRoles() async throws {
        if try await mayChangeRoles() {
            do {
                return try await connection.runScript("BEGIN;\n\(manifest.roles.text)\nCOMMIT;")
            } catch let error as PostgresError {
                let code: SchemaError.Code = error.sqlState == .insufficientPrivilege ? .notPermitted : .fileFailed
                throw SchemaError(code, "\(manifest.roles.name): \(error)", cause: error)
            }
        }
        let missing = try await missingRoles()
        guard missing.isEmpty else {
            throw SchemaError(
                .rolesMissing,
                "these roles are missing and this one may not create them: \(missing.joined(separator: ", ")); "
                    + "run sql/roles.sql as a superuser\(try await missingAdminOptions())"
            )
        }
    }

    /// What a role that may create roles lacks to change the program's, as the end of a sentence.
    private func missingAdminOptions() async throws -> String {
        let rows = try await connection.query(
            """
            SELECT format(', or GRANT %s TO %I WITH ADMIN OPTION', string_agg(quote_ident(r.rolname), ', ' ORDER BY r.rolname), current_user) AS remedy
            FROM pg_catalog.pg_roles AS me CROSS JOIN pg_catalog.pg_roles AS r
            WHERE me.rolname = current_user AND me.rolcreaterole
              AND r.rolname = ANY (\(Self.roles)) AND NOT pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION')
            HAVING count(*) > 0
            """
        )
        return try rows.first?.decode("remedy") ?? ""
    }

    /// Whether this role may make the program's roles and change those that exist. Since PostgreSQL 16 CREATEROLE is not enough for that: it
    /// takes the ADMIN option, which the role that makes another has, and which it may give to others.
    private func mayChangeRoles() async throws -> Bool {
        let rows = try await connection.query(
            """
            SELECT me.rolsuper
                   OR me.rolcreaterole
                      AND (current_setting('server_version_num')::integer < 160000
                           OR NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r
                                          WHERE r.rolname = ANY (\(Self.roles)) AND NOT pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION'))) AS may
            FROM pg_catalog.pg_roles AS me WHERE me.rolname = current_user
            """
        )
        return try rows.first?.decode("may") == true
    }

    /// The program's roles that the cluster lacks.
    func missingRoles() async throws -> [String] {
        try await connection.query(
            """
            SELECT wanted.name FROM unnest(\(Self.roles)) AS wanted (name)
            WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted.name)
            """
        ).map { try $0.decode("name") }
    }

    /// ALTER ROLE settings apply to logins, not to SET ROLE, so the session sets them. An empty search_path makes each file qualify names.
    private var sessionSettings: String {
        """
        SET ROLE appstore_owner; SET search_path = ''; SET TimeZone = 'UTC'; SET lock_timeout = \(lockTimeout.milliseconds);
        SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
        """
    }

    /// The program's roles.
    static let roles = [
        "appstore_owner", "appstore_ingest", "appstore_worker", "appstore_operator", "appstore_viewer", "appstore_backend",
        "appstore_reporter", "appstore_api", "appstore_console", "appstore_bodies",
    ]
    /// An arbitrary number, the same for every run.
    private static let lockKey: Int64 = 0x6170_7073_746f_7265
}
