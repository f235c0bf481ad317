import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema

extension TestDatabase {
    /// The differences that `migrate --check` reports.
    func differences(_ manifest: SchemaManifest = SchemaManifest(), user: String = "postgres") async throws -> [String] {
        try await withConnection(user: user) { connection in
            try await SchemaMigrator(connection: connection, manifest: manifest, logger: .silent).differences()
        }
    }

    func run(_ script: String, user: String = "postgres") async throws {
        try await withConnection(user: user) { try await $0.runScript(script) }
    }
}
