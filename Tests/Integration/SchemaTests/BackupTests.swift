import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import TemporaryPostgres
import Testing

/// The dump that deploy/README.md describes.
struct BackupTests {
    private static let readme = URL(filePath: #filePath).appending(path: "../../../../deploy/README.md").standardized

    /// The options of `pg_dump` there, without the database.
    private static func options() throws -> [String] {
        let text = try String(contentsOf: readme, encoding: .utf8)
        let command = try #require(text.firstMatch(of: #/^sudo -u postgres pg_dump (?<options>.+) shop > /#.anchorsMatchLineEndings()))
        return command.options.split(separator: " ").map(String.init)
    }

    @Test func `a dump is restored to what migrate makes, with what was in it`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run("INSERT INTO appstore.fx_rates VALUES ('EUR', '2026-01-01', 1.25)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "backup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        defer { try? FileManager.default.removeItem(at: folder) }
        let dump = folder.appending(path: "appstore.dump").path
        try await PostgresPrograms.run("pg_dump", try Self.options() + ["--file=\(dump)", database.url()])
        let restored = try await TestCluster.shared.makeDatabase()
        try await PostgresPrograms.run("pg_restore", ["--exit-on-error", "--dbname=\(restored.url())", dump])
        try await restored.migrate()
        #expect(try await restored.differences() == [])
        #expect(try await restored.fingerprint() == database.fingerprint())
        #expect(try await restored.lines("SELECT per_unit::text FROM appstore.fx_rates") == ["1.25"])
    }
}
