import Foundation
import InboxTesting
import Postgres
import SQL
import Testing

/// The files of `sql/statements`.
struct StatementFileTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../sql").standardized

    private func text(of name: String) throws -> String {
        try String(contentsOf: Self.folder.appending(path: "statements/\(name).sql"), encoding: .utf8)
    }

    @Test func `each file is listed once, with its own text`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appending(path: "statements").path)
        #expect(StatementFile.all.map { $0.name + ".sql" }.sorted() == files.sorted())
        for file in StatementFile.all {
            let own = StatementFile(name: file.name, text: try text(of: file.name))
            #expect(file.sql == own.sql, "\(file.name) is listed with the text of another file")
        }
    }

    /// They share one folder where they are compiled in.
    @Test func `no two files of sql have one name`() throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".sql") }
        let named = Dictionary(grouping: paths) { URL(filePath: $0).lastPathComponent }
        #expect(named.filter { $0.value.count > 1 }.isEmpty)
    }

    @Test func `each file begins with a comment that names its result, and ends its statement`() throws {
        for file in StatementFile.all {
            let text = try text(of: file.name)
            #expect(text.hasPrefix("-- ") && text.contains("Returns ") && text.hasSuffix(";\n"), "\(file.name)")
        }
    }

    @Test func `PostgreSQL prepares each statement, and none has the name of an object of the schema`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            for file in StatementFile.all {
                do {
                    _ = try await connection.query("PREPARE \(identifier: file.name) AS \(unsafeRaw: file.sql)")
                } catch let error as PostgresError {
                    Issue.record("\(file.name): \(error)")
                }
            }
            let names = try await connection.query(
                """
                SELECT s.name FROM unnest(\(StatementFile.all.map(\.name))) AS s (name)
                WHERE EXISTS (SELECT FROM pg_proc WHERE pronamespace = 'appstore'::regnamespace AND proname = s.name)
                   OR EXISTS (SELECT FROM pg_class WHERE relnamespace = 'appstore'::regnamespace AND relname = s.name)
                """
            )
            #expect(try names.map { try $0.decode("name", as: String.self) } == [])
        }
    }
}
