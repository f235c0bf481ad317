import FoundationEssentials
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What the README tells people to type.
struct ReadmeTests {
    /// The statements of its SQL blocks, and those in the middle of a line.
    private func statements() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md")
        let readme = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        var (fence, text) = (nil as Substring?, "")
        for line in readme.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                fence = fence == nil ? line.dropFirst(3) : nil
                text += ";"
            } else if fence == "sql" {
                text += line.prefix(upTo: line.firstRange(of: "   -- ")?.lowerBound ?? line.endIndex) + "\n"
            } else if fence == nil {
                let code = line.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
                text += code.map { ";\($0.element);" }.joined()
            }
        }
        return text.split(separator: ";").map { $0.trimmingPrefix { $0.isWhitespace } }
            .filter { text in ["SELECT ", "INSERT ", "UPDATE "].contains { text.hasPrefix($0) } && !text.contains("…") }.map(String.init)
    }

    @Test func `PostgreSQL understands each statement of the README`() async throws {
        let statements = try statements()
        #expect(statements.count > 25, "\(statements)")
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            for statement in statements {
                do {
                    _ = try await connection.query("EXPLAIN \(unsafeRaw: statement)")
                } catch let error as PostgresError {
                    Issue.record("\(statement): \(error)")
                }
            }
        }
    }
}
