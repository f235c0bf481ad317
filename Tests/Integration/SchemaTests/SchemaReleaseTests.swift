import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

/// Upgrades from each release in `sql/releases`, with rows in each table.
struct SchemaReleaseTests {
    /// The versions of the releases.
    static let versions: [Int] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: ReleasedSchema.folder.path)) ?? []
        return names.compactMap { $0.wholeMatch(of: #/([0-9]+)\.sql/#).flatMap { Int($0.output.1) } }.sorted()
    }()

    private static let tables: Statement = """
        SELECT c.oid::regclass::text FROM pg_class AS c
        WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND c.relname NOT IN ('schema_history', 'schema_definitions')
        ORDER BY 1
        """
    private static let comments: Statement = """
        SELECT concat_ws(' ', pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description) FROM pg_description AS d
        WHERE (pg_identify_object(d.classoid, d.objoid, d.objsubid)).schema IN ('appstore', 'appstore_reports')
          AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = d.objoid AND c.relispartition)
        ORDER BY 1
        """

    /// The number of rows of each table.
    private func rows(_ database: TestDatabase) async throws -> [String] {
        let counts = try await database.lines(Self.tables).map { "SELECT '\($0) ' || count(*) FROM \($0)" }
        return try await database.lines("\(unsafeRaw: counts.joined(separator: " UNION ALL "))")
    }

    @Test func `the version of this program is kept for those to come`() {
        #expect(Self.versions.last == SchemaManifest().version, "deploy/schema --release writes sql/releases/N.sql")
    }

    @Test(arguments: versions)
    func `a release with rows in each table becomes what a new database is, and keeps the rows`(version: Int) async throws {
        let database = try await ReleasedSchema.install(version, withRows: true)
        let before = try await rows(database)
        #expect(before.filter { $0.hasSuffix(" 0") } == [], "sql/releases/\(version).rows.sql has no row for them")
        let steps = SchemaManifest().steps.map(\.version).filter { $0 > version }
        #expect(try await database.migrate().steps.count == steps.count)
        #expect(try await database.differences() == [])
        let new = try await InboxDatabase.make()
        #expect(try await database.fingerprint() == new.fingerprint())
        #expect(try await database.lines(Self.comments) == new.lines(Self.comments), "a step changes comments of tables, too")
        // These rows are the program's own, to which steps add.
        let kinds: Statement = "SELECT concat_ws(' ', kind, source) FROM appstore.call_kinds ORDER BY kind"
        #expect(try await database.lines(kinds) == new.lines(kinds))
        let after = try await rows(database)
        let kept = Set(after.compactMap { $0.split(separator: " ").first }).subtracting(["appstore.call_kinds"])
        #expect(before.filter { kept.contains($0.prefix { $0 != " " }) && !after.contains($0) } == [])
    }

    @Test(arguments: versions)
    func `the definitions of a release are recorded with it`(version: Int) async throws {
        let database = try await ReleasedSchema.install(version, withRows: true)
        #expect(try await database.lines("SELECT max(version)::text FROM appstore.schema_history") == ["\(version)"])
        #expect(try await database.lines("SELECT (count(*) > 100)::text FROM appstore.schema_definitions") == ["true"])
        let isCurrent = version == SchemaManifest().version
        if isCurrent { #expect(try await database.differences() == []) }
    }
}
