import Foundation
import InboxTesting
import Postgres
import Testing

/// The SQL in the READMEs.
struct ReadmeTests {
    /// The READMEs, by their path in the repository. Those that do not exist are skipped.
    private static let paths = [
        "README.md", "deploy/README.md", "sql/README.md", "Sources/README.md", "Tests/README.md", "Sources/Lab/Benchmarks/README.md",
    ]
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    private static let readmes = paths.filter { FileManager.default.fileExists(atPath: root.appending(path: $0).path) }

    /// Statements that EXPLAIN accepts, unlike `CALL`, `SET` and definitions.
    private static let explainable = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "]

    /// The statements of the SQL blocks, and those between backticks in the middle of a line; without those that are abridged (`…`).
    private static func statements(_ path: String) throws -> [String] {
        let readme = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        var (fence, text) = (nil as Substring?, "")
        for line in readme.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                fence = fence == nil ? line.dropFirst(3) : nil
                text += ";"
            } else if fence == "sql" {
                guard !line.hasPrefix("-- ") else { continue }
                text += line.prefix(upTo: line.firstRange(of: "   -- ")?.lowerBound ?? line.endIndex) + "\n"
            } else if fence == nil {
                let code = line.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
                text += code.map { ";\($0.element);" }.joined()
            }
        }
        return text.split(separator: ";").map { $0.trimmingPrefix { $0.isWhitespace } }
            .filter { text in explainable.contains { text.hasPrefix($0) } && !text.contains("…") }.map(String.init)
    }

    @Test(arguments: readmes)
    func `PostgreSQL accepts each statement of a README`(path: String) async throws {
        let statements = try Self.statements(path)
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

    @Test func `the README for users and the one for operators have statements`() throws {
        #expect(try Self.statements("README.md").count >= 12)
        #expect(try Self.statements("deploy/README.md").count >= 6)
    }
}
