import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// The files of sql/statements, read where they live.
struct StatementFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../sql/statements")

    private static func files() throws -> [(file: StatementFile, text: String)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql") }
        return try names.sorted().map { name in
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            return (StatementFile(name: String(name.dropLast(4)), text: text), text)
        }
    }

    @Test func `PostgreSQL prepares every statement as it is written, whatever types a driver would declare`() async throws {
        let database = try await InboxDatabase.make()
        let files = try Self.files()
        #expect(files.count >= 26)
        try await database.withConnection { connection in
            for (file, _) in files {
                do {
                    try await connection.execute("PREPARE checked AS \(unsafeRaw: file.sql)")
                    try await connection.execute("DEALLOCATE checked")
                } catch {
                    Issue.record("\(file.name): \(error)")
                }
            }
        }
    }

    @Test func `every statement begins with a comment that says what it is for and what comes back`() throws {
        for (file, text) in try Self.files() {
            #expect(text.hasPrefix("-- "), "\(file.name)")
            #expect(text.contains("Returns "), "\(file.name)")
        }
    }
}
