import Foundation
import InboxTesting
import Postgres
import SQL
import Testing

/// What the programs send: the files of `sql/statements`, and calls of functions.
struct StatementTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../sql").standardized

    @Test func `each file is a statement with its own text`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appending(path: "statements").path)
        let texts = Statement.texts.filter { $0.path.hasPrefix("statements/") }
        #expect(texts.map { $0.name + ".sql" }.sorted() == files.sorted())
        for text in texts {
            let file = try String(contentsOf: Self.folder.appending(path: text.path), encoding: .utf8)
            #expect(file.contains(text.sql.prefix { $0 != "$" && $0 != "(" }), "\(text.name) has the text of another file")
        }
    }

    /// They share one folder where they are compiled in.
    @Test func `no two files of sql have one name`() throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.path).filter { $0.hasSuffix(".sql") }
        let named = Dictionary(grouping: paths) { URL(filePath: $0).lastPathComponent }
        #expect(named.filter { $0.value.count > 1 }.isEmpty)
    }

    @Test func `each file begins with a comment that names its result, and ends its statement`() throws {
        for text in Statement.texts where text.path.hasPrefix("statements/") {
            let file = try String(contentsOf: Self.folder.appending(path: text.path), encoding: .utf8)
            #expect(file.hasPrefix("-- ") && file.contains("Returns ") && file.hasSuffix(";\n"), "\(text.name)")
        }
    }

    /// A call names the parameters as the function does, and binds what it takes.
    @Test func `PostgreSQL prepares each statement with the types of its binds`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            for text in Statement.texts {
                let types = text.binds.isEmpty ? "" : "(\(text.binds.map(\.value).joined(separator: ", ")))"
                do {
                    _ = try await connection.query("PREPARE \(identifier: text.name) \(unsafeRaw: types) AS \(unsafeRaw: text.sql)")
                } catch let error as PostgresError {
                    Issue.record("\(text.name): \(error)")
                }
            }
        }
    }

    @Test func `no file has the name of an object of the schema`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            let names = try await connection.query(
                """
                SELECT s.name FROM unnest(\(Statement.texts.filter { $0.path.hasPrefix("statements/") }.map(\.name))) AS s (name)
                WHERE EXISTS (SELECT FROM pg_proc WHERE pronamespace = 'appstore'::regnamespace AND proname = s.name)
                   OR EXISTS (SELECT FROM pg_class WHERE relnamespace = 'appstore'::regnamespace AND relname = s.name)
                """
            )
            #expect(try names.map { try $0.decode("name", as: String.self) } == [])
        }
    }

    @Test func `a bind that cannot be sent is an error that names the statement and the bind`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            let error = await #expect(throws: PostgresError.self) { try await connection.query(.pauseEndpoint(name: "an\0na")) }
            #expect(error?.code == .invalidBind)
            #expect(
                error?.description
                    == "bind :name: text contains a NUL character, which PostgreSQL cannot store (statement pause_endpoint)"
            )
        }
    }
}
