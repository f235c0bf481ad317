import Postgres
package import PostgresTesting
package import SQL
package import Schema

/// Releases that do not exist, to which tests upgrade.
extension SchemaManifest {
    /// The manifest with the fingerprint of what it creates, as a release has it.
    package func withFingerprint() async throws -> SchemaManifest {
        let database = try await TestCluster.shared.makeDatabase()
        try await database.migrate(self)
        var copy = self
        copy.fingerprint = SchemaFingerprint(try await database.fingerprint().joined(separator: "\n"))
        return copy
    }

    /// The manifest with a text in front of another text of the tables.
    package func inserting(_ text: String, before other: String, in name: String) -> SchemaManifest {
        var copy = self
        copy.tables = tables.map { file in
            file.name == name ? SchemaFile(name: name, text: file.text.replacing(other, with: text + other)) : file
        }
        return copy
    }

    /// The manifest of a later release, with one more step.
    package func adding(_ step: String, name: String = "change") -> SchemaManifest {
        var copy = self
        copy.steps.append(SchemaStep(file: SchemaFile(name: Self.step(version - SchemaManifest().version + 1, name), text: step)))
        return copy
    }

    /// The name of the step so many versions after that of the program.
    package static func step(_ later: Int, _ name: String = "change") -> String {
        let number = String(SchemaManifest().version + later)
        return "steps/" + String(repeating: "0", count: 4 - number.count) + number + "_" + name
    }

    /// The manifest with one more file of functions.
    package func defining(_ text: String, name: String = "functions/test/mine") -> SchemaManifest {
        var copy = self
        copy.functions.append(SchemaFile(name: name, text: text))
        return copy
    }
}

extension TestDatabase {
    /// Runs migrate once.
    @discardableResult
    package func migrate(
        _ manifest: SchemaManifest = SchemaManifest(),
        user: String = "postgres",
        lockTimeout: Duration = .seconds(5)
    ) async throws -> SchemaChanges {
        try await withConnection(user: user) { connection in
            try await SchemaMigrator(connection: connection, manifest: manifest, lockTimeout: lockTimeout, logger: .silent).migrate()
        }
    }

    /// The objects and digests of the database.
    package func fingerprint() async throws -> [String] {
        try await lines("SELECT digest || ' ' || object FROM appstore.schema_fingerprint()")
    }
}
