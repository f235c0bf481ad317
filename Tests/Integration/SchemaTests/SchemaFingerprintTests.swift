import InboxTesting
import Postgres
import SQL
import Schema
import Testing

/// The fingerprint in the database, with which another major version of PostgreSQL than the program's is compared.
struct SchemaFingerprintTests {
    /// The manifest of a program whose fingerprint is of another major version.
    private static let foreign: SchemaManifest = {
        var manifest = SchemaManifest()
        manifest.fingerprint = "PostgreSQL 14\n"
        return manifest
    }()

    private static let definition = "CREATE FUNCTION appstore.answer() RETURNS integer LANGUAGE sql AS 'SELECT 1';"

    @Test func `migrate records the fingerprint of what it has made`() async throws {
        let database = try await InboxDatabase.make()
        let recorded = try await database.lines("SELECT fingerprint FROM appstore.schema_history")
        #expect(recorded == [SchemaManifest().fingerprint])
    }

    @Test(arguments: [
        ("DROP INDEX appstore.audit_log_by_event", "missing: index appstore.audit_log_by_event"),
        ("CREATE TABLE appstore.mine ()", "unknown: table appstore.mine"),
        ("ALTER VIEW appstore.failed SET (security_barrier = true)", "different: view appstore.failed"),
        ("GRANT DELETE ON appstore.inbox TO appstore_viewer", "different: privileges of appstore_viewer"),
    ])
    func `a manual change is found on another major version`(script: String, line: String) async throws {
        let database = try await InboxDatabase.make()
        try await database.migrate(Self.foreign)
        #expect(try await database.differences(Self.foreign) == [])
        try await database.run(script)
        #expect(try await database.differences(Self.foreign) == [line])
    }

    @Test func `a later migrate neither hides a manual change of a table nor reports its own changes`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run("DROP INDEX appstore.audit_log_by_event")
        let line = "missing: index appstore.audit_log_by_event"
        let next = Self.foreign.adding("CREATE TABLE appstore.more (id integer);").defining(Self.definition)
        #expect(try await database.migrate(next).steps == ["steps/0002_change"])
        #expect(try await database.differences(next) == [line])
        #expect(try await database.migrate(next).isEmpty)
        #expect(try await database.differences(next) == [line])
        #expect(try await database.lines("SELECT version::text FROM appstore.schema_history WHERE fingerprint IS NOT NULL") == ["2"])
    }

    @Test func `the fingerprint of another major version does not count until the next migrate`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run("UPDATE appstore.schema_history SET fingerprint = replace(fingerprint, 'PostgreSQL 15', 'PostgreSQL 14')")
        try await database.run("CREATE TABLE appstore.mine ()")
        #expect(try await database.differences(Self.foreign) == [])
        let changed = Self.foreign.defining(Self.definition)
        #expect(try await database.differences(changed) == ["different: sql/functions/test/mine.sql"])
        #expect(try await database.migrate(Self.foreign).isEmpty)
        try await database.run("DROP TABLE appstore.mine")
        #expect(try await database.differences(Self.foreign) == ["missing: table appstore.mine"])
    }
}
