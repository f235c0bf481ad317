import Logging
import Postgres
import SQL

/// The differences between a database's schema and the one that the program creates, by the names of the objects.
package struct SchemaComparison: Hashable, Sendable {
    /// Objects that the program creates and the database lacks.
    package private(set) var missing: [String] = []
    /// Objects with another definition in the database.
    package private(set) var different: [String] = []
    /// Objects that the program does not create.
    package private(set) var unknown: [String] = []

    package var isEmpty: Bool { missing.isEmpty && different.isEmpty && unknown.isEmpty }

    /// Whether replacing functions, views and privileges may help.
    var concernsDefinitions: Bool {
        (missing + different).contains { object in ["function ", "aggregate ", "view ", "privileges "].contains { object.hasPrefix($0) } }
            || unknown.contains { $0.hasPrefix("privileges ") }
    }

    /// Compares the digests of objects.
    init(expected: [String: String], found: [String: String]) {
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

/// The digests of objects, as `sql/fingerprint.txt` holds them.
struct SchemaFingerprint {
    /// The major version of PostgreSQL that printed the definitions.
    let major: Int
    let digests: [String: String]

    /// Reads `PostgreSQL 15`, then lines of a digest, a space and an object.
    init?(_ text: String) {
        var lines = text.split(separator: "\n")[...]
        guard let major = lines.popFirst()?.split(separator: " ").last.flatMap({ Int($0) }) else { return nil }
        self.major = major
        var digests: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            digests[String(parts[1])] = String(parts[0])
        }
        self.digests = digests
    }
}

extension SchemaMigrator {
    /// The differences; nil on another major version of PostgreSQL, which prints definitions differently.
    func compare() async throws -> SchemaComparison? {
        let rows = try await connection.query("SELECT current_setting('server_version_num')::integer / 10000 AS major")
        let major = Int(try rows[0].decode("major", as: Int32.self))
        guard let expected = SchemaFingerprint(manifest.fingerprint), expected.major == major else { return nil }
        do {
            var found: [String: String] = [:]
            for row in try await connection.query("SELECT object, digest FROM appstore.schema_fingerprint()") {
                found[try row.decode("object")] = try row.decode("digest", as: String.self)
            }
            return SchemaComparison(expected: expected.digests, found: found)
        } catch let error as PostgresError where error.sqlState == .undefinedFunction {
            return SchemaComparison(expected: ["function appstore.schema_fingerprint()": ""], found: [:])
        }
    }

    /// A line for each difference between the database's schema and the one that the program creates; changes nothing.
    package func differences() async throws -> [String] {
        let version = try await version()
        guard version > 0 else { return ["the database has no schema of appstore-inbox"] }
        guard version == manifest.version else { return ["the schema has version \(version), this program makes \(manifest.version)"] }
        guard let comparison = try await compare() else {
            logger.warning("this major version of PostgreSQL prints definitions differently: only the files of definitions are compared")
            return try await changedDefinitions().map { "different: sql/\($0).sql" }
        }
        return comparison.lines
    }
}
