import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema

extension TestDatabase {
    /// Runs migrate once.
    @discardableResult
    func migrate(
        _ manifest: SchemaManifest = SchemaManifest(),
        user: String = "postgres",
        lockTimeout: Duration = .seconds(5)
    ) async throws -> SchemaChanges {
        try await withConnection(user: user) { connection in
            try await SchemaMigrator(connection: connection, manifest: manifest, lockTimeout: lockTimeout, logger: .silent).migrate()
        }
    }

    /// The differences that `migrate --check` reports.
    func differences(_ manifest: SchemaManifest = SchemaManifest(), user: String = "postgres") async throws -> [String] {
        try await withConnection(user: user) { connection in
            try await SchemaMigrator(connection: connection, manifest: manifest, logger: .silent).differences()
        }
    }

    func run(_ script: String, user: String = "postgres") async throws {
        try await withConnection(user: user) { try await $0.runScript(script) }
    }

    /// The objects and digests of the database.
    func fingerprint() async throws -> [String] {
        try await lines("SELECT digest || ' ' || object FROM appstore.schema_fingerprint()")
    }
}

extension SchemaManifest {
    /// The manifest of a later release, with one more step.
    func adding(_ step: String, name: String = "steps/0002_change") -> SchemaManifest {
        var copy = self
        copy.steps.append(SchemaStep(file: SchemaFile(name: name, text: step)))
        return copy
    }

    /// The manifest with one more file of functions.
    func defining(_ text: String, name: String = "functions/test/mine") -> SchemaManifest {
        var copy = self
        copy.functions.append(SchemaFile(name: name, text: text))
        return copy
    }
}
