import Logging
import Postgres
import SQL

extension SchemaMigrator {
    /// The differences; nil where neither the program nor the database has a fingerprint of this major version of PostgreSQL, since each
    /// prints definitions differently.
    func compare() async throws -> SchemaComparison? {
        guard let expected = try await expected() else { return nil }
        guard let found = try await fingerprint() else {
            return SchemaComparison(expected: ["function appstore.schema_fingerprint()": ""], found: [:])
        }
        return SchemaComparison(expected: expected.digests, found: found.digests)
    }

    /// A line for each difference between the database's schema and the one that the program creates; changes nothing.
    package func differences() async throws -> [String] {
        let version = try await version()
        guard version > 0 else { return ["the database has no schema of appstore-inbox"] }
        guard version == manifest.version else { return ["the schema has version \(version), this program makes \(manifest.version)"] }
        let changedFiles = try await changedDefinitions().map { "different: sql/\($0).sql" }
        guard let comparison = try await compare() else {
            logger.warning("no migrate ran on this major version of PostgreSQL: only the files of definitions are compared")
            return changedFiles
        }
        return comparison.lines + changedFiles
    }

    /// Records, in the transaction of a change, what it leaves.
    ///
    /// - Parameter before: the fingerprint before the change; nil when there was no schema.
    func recordFingerprint(since before: SchemaFingerprint?) async throws {
        guard let found = try await fingerprint() else { return }
        let known = try await recordedFingerprint(major: found.major)
        let left = before.flatMap { before in known.map { found.following(before, known: $0) } } ?? found
        try await connection.execute(
            """
            UPDATE appstore.schema_history AS h SET fingerprint = CASE WHEN h.version = latest.version THEN \(left.description) END
            FROM (SELECT max(version) AS version FROM appstore.schema_history) AS latest
            WHERE h.fingerprint IS NOT NULL OR h.version = latest.version
            """
        )
    }

    /// Records the schema as it is, if no migration of this major version of PostgreSQL has.
    func recordFirstFingerprint() async throws {
        guard try await recordedFingerprint(major: major()) == nil else { return }
        try await transaction("the fingerprint") { try await recordFingerprint(since: nil) }
    }

    /// The program's fingerprint, else that of the latest migration.
    private func expected() async throws -> SchemaFingerprint? {
        let major = try await major()
        if let own = SchemaFingerprint(manifest.fingerprint), own.major == major { return own }
        return try await recordedFingerprint(major: major)
    }

    /// What the latest migration has left; nil when it ran on another major version of PostgreSQL.
    private func recordedFingerprint(major: Int) async throws -> SchemaFingerprint? {
        let rows = try await connection.query("SELECT fingerprint FROM appstore.schema_history WHERE fingerprint IS NOT NULL")
        guard let text = try rows.first?.decode("fingerprint", as: String.self), let recorded = SchemaFingerprint(text) else { return nil }
        return recorded.major == major ? recorded : nil
    }

    /// The objects of the database; nil when the function that lists them is missing.
    func fingerprint() async throws -> SchemaFingerprint? {
        let exists = try await connection.query("SELECT to_regprocedure('appstore.schema_fingerprint()') IS NOT NULL AS is_there")
        guard try exists.first?.decode("is_there") == true else { return nil }
        var digests: [String: String] = [:]
        for row in try await connection.query("SELECT object, digest FROM appstore.schema_fingerprint()") {
            digests[try row.decode("object")] = try row.decode("digest", as: String.self)
        }
        return SchemaFingerprint(major: try await major(), digests: digests)
    }

    private func major() async throws -> Int {
        let rows = try await connection.query("SELECT current_setting('server_version_num')::integer / 10000 AS major")
        return Int(try rows[0].decode("major", as: Int32.self))
    }
}
