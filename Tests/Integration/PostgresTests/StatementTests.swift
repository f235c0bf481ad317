import Postgres
import Testing

@Suite struct StatementTests {
    @Test(arguments: ["'; DROP TABLE t; --", "$1", "\\'", "\u{2019} OR 1=1", "\" || x || \""])
    func `a bound value is never part of the SQL text`(attack: String) async throws {
        let statement: Statement = "INSERT INTO t (name) VALUES (\(attack)) RETURNING name"
        #expect(statement.sql == "INSERT INTO t (name) VALUES ($1) RETURNING name")
        try await withConnection { connection, _ in
            try await connection.execute("CREATE TABLE t (name text)")
            #expect(try await connection.query(statement)[0].decode("name", as: String.self) == attack)
            #expect(try await connection.query("SELECT FROM t").count == 1)
        }
    }

    @Test(arguments: ["t\"; DROP TABLE t; --", "Mixed Case", "\"\""])
    func `an identifier is always quoted as a name`(name: String) async throws {
        try await withConnection { connection, _ in
            try await connection.execute("CREATE TABLE \(identifier: name) (id int8)")
            #expect(try await connection.query("SELECT FROM pg_class WHERE relname = \(name)").count == 1)
        }
    }

    @Test func `text with NUL is refused before anything is sent`() async throws {
        try await withConnection { connection, _ in
            var statement: Statement = "SELECT \(1), \("secret\0value")"
            statement.name = "greet"
            let error = try await postgresError { try await connection.query(statement) }
            #expect(error.code == .invalidBind)
            #expect(
                error.description
                    == "bind $2: text contains a NUL character, which PostgreSQL cannot store (statement greet)"
            )
            for refused: Statement in [
                "SELECT \(["a", "b\0"])", "SELECT \(JSONText("\"\0\""))", "SELECT 1 AS \(identifier: "a\0b")",
                "SELECT 1 AS \(identifier: "")",
            ] {
                #expect(try await postgresError { try await connection.query(refused) }.code == .invalidBind)
            }
            #expect(try await connection.query("SELECT 1").count == 1)
        }
    }

    @Test func `more binds than the protocol allows are refused`() async throws {
        var interpolation = Statement.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        for number in 0...65_535 { interpolation.appendInterpolation(number) }
        let statement = Statement(stringInterpolation: interpolation)
        try await withConnection { connection, _ in
            let error = try await postgresError { try await connection.query(statement) }
            #expect(error.code == .invalidBind)
        }
    }

    @Test func `no description contains a bind`() {
        let statement: Statement = "SELECT \("secret"), \([1, 2, 3] as [UInt8])"
        for text in ["\(statement)", String(reflecting: statement), dumped(statement)] {
            #expect(!text.contains("secret"))
            #expect(!text.contains("115"), "the bytes of the text: \(text)")
        }
        #expect("\(Statement(name: "claim", statement))" == "claim")
    }

    private func dumped(_ value: some Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}
