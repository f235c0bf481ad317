import Foundation
import InboxTesting
import Postgres
import Testing

/// The queries of `sql/queries`.
struct QueryTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../sql/queries")

    private func texts() throws -> [(name: String, text: String)] {
        try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "sql" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
            .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    @Test func `a viewer can run each query`() async throws {
        let texts = try texts()
        #expect(texts.count >= 10)
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_viewer") { connection in
            for (name, text) in texts {
                do {
                    try await connection.runScript(text)
                } catch let error as PostgresError {
                    Issue.record("\(name): \(error)")
                }
            }
        }
    }

    @Test func `each query begins with the question that it answers`() throws {
        for (name, text) in try texts() {
            #expect(text.hasPrefix("-- ") && text.prefix(while: { $0 != "\n" }).contains("?"), "\(name)")
        }
    }
}
