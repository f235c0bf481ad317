import Logging
import Postgres
import SQL

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
