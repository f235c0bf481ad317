package import Logging
package import Migrations
package import Postgres

/// Brings a database to this program's schema. Safe when two run at once: each step waits for the other's, and looks again.
package struct SchemaMigrator: Sendable {
    private let connection: Connection
    private let migrations: [Migration]
    private let logger: Logger

    /// - Parameter migrations: all by default; a test may stop at an earlier one.
    package init(connection: Connection, migrations: [Migration] = Migration.all, logger: Logger) {
        self.connection = connection
        self.migrations = migrations
        self.logger = logger
    }

    /// Runs what is missing and returns the names of what it ran. Throws ``SchemaError`` when the roles are missing and may not be made,
    /// or when the database is newer than this program.
    ///
    /// Runs one after the other hold a lock of their session: migrate needs a connection of its own, not a pooler's.
    package func migrate() async throws -> [String] {
        try await connection.execute("SELECT FROM pg_advisory_lock(\(Self.lockKey))")
        try await ensureRoles()
        let known = try await version()
        let newest = migrations.last?.version ?? 0
        guard known <= newest else {
            throw SchemaError(.databaseIsNewer, "the database has schema \(known), this program knows \(newest): upgrade the program")
        }
        let missing = migrations.filter { $0.version > known }
        for migration in missing {
            try await apply(migration)
        }
        try await connection.execute("SELECT FROM pg_advisory_unlock(\(Self.lockKey))")
        return missing.map(\.name)
    }

    /// The schema that the database has: 0 when it has none.
    package func version() async throws -> Int {
        let exists = try await connection.query("SELECT to_regclass('appstore.schema_migrations') IS NOT NULL AS found")
        guard try exists.first?.decode("found") == true else { return 0 }
        let rows = try await connection.query("SELECT coalesce(max(version), 0) AS version FROM appstore.schema_migrations")
        return Int(try rows.first?.decode("version", as: Int32.self) ?? 0)
    }

    /// One migration and its row, in one transaction.
    private func apply(_ migration: Migration) async throws {
        try await connection.runScript(
            """
            BEGIN;
            SET LOCAL ROLE appstore_owner;
            \(migration.sql)
            INSERT INTO appstore.schema_migrations (version, name) VALUES (\(migration.version), '\(migration.name)');
            COMMIT;
            """
        )
        logger.notice("migration applied", metadata: ["schema.migration": "\(migration.name)"])
    }

    private func ensureRoles() async throws {
        let mayCreate = try await connection.query(
            "SELECT rolsuper OR rolcreaterole AS may_create FROM pg_catalog.pg_roles WHERE rolname = current_user"
        )
        if try mayCreate.first?.decode("may_create") == true {
            return try await connection.runScript("BEGIN;\n\(Migration.roles)\nCOMMIT;")
        }
        let missing = try await connection.query(
            """
            SELECT wanted.name FROM unnest(\(Self.roles)) AS wanted (name)
            WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted.name)
            """
        )
        guard missing.isEmpty else {
            let names = try missing.map { try $0.decode("name", as: String.self) }.joined(separator: ", ")
            throw SchemaError(
                .rolesMissing,
                "these roles are missing and this one may not create them: \(names); run sql/roles.sql as a superuser"
            )
        }
    }

    private static let roles = [
        "appstore_owner", "appstore_ingest", "appstore_worker", "appstore_operator", "appstore_viewer", "appstore_backend", "appstore_api",
    ]
    /// Of no meaning but to be the same for every run.
    private static let lockKey: Int64 = 0x6170_7073_746f_7265
}
