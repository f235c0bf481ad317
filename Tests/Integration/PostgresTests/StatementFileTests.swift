import Postgres
import Testing

@Suite struct StatementFileTests {
    private static let greeting = StatementFile(
        name: "greet",
        text: """
            -- Greets :unused.
            -- Returns one row.
            SELECT :greeting::text || ', ' || :name AS greeting, :times::bigint AS times, :greeting AS again;

            """
    )

    @Test func `bind names are numbered by first appearance`() {
        #expect(Self.greeting.sql == "SELECT $1::text || ', ' || $2 AS greeting, $3::bigint AS times, $1 AS again;")
        #expect(Self.greeting.parameters == ["greeting", "name", "times"])
    }

    @Test(
        arguments: [
            "SELECT '12:30', ':a', 'it''s :a', ''",
            #"SELECT e':a \' :a', E'\\', "a:b", ":a""b""#,
            "SELECT a::text, (b) :: int, c[1:2], d := 1",
            "SELECT 1 -- :a\n, 2 /* :a /* :a */ :a */, 3",
            "SELECT $$ :a $$, $tag$ :a $$ :a $tag$, a$b, $1",
            "SELECT 'open :a",
            "SELECT 1 :",
        ]
    )
    func `text that only resembles a bind is unchanged`(text: String) {
        let file = StatementFile(name: "any", text: text)
        #expect(file.sql == text)
        #expect(file.parameters == [])
    }

    @Test(
        arguments: [
            ("/* :a */ -- :a\n\n  SELECT :b", "SELECT $1", ["b"]),
            ("SELECT ':'||:a||':'", "SELECT ':'||$1||':'", ["a"]),
            ("SELECT :a_1::integer[], -:b", "SELECT $1::integer[], -$2", ["a_1", "b"]),
            ("SELECT $$ $$||:a", "SELECT $$ $$||$1", ["a"]),
            ("SELECT name'x:a', :b", "SELECT name'x:a', $1", ["b"]),
        ]
    )
    func `a bind is found next to any other token`(text: String, sql: String, parameters: [String]) {
        let file = StatementFile(name: "any", text: text)
        #expect(file.sql == sql)
        #expect(file.parameters == parameters)
    }

    @Test func `values are bound by name, in any order`() async throws {
        try await withConnection { connection, _ in
            for statement in [
                Statement(Self.greeting, ["greeting": "hello", "name": "anna", "times": 3]),
                Statement(Self.greeting, ["times": 3, "name": "anna", "greeting": "hello"]),
            ] {
                let row = try await connection.query(statement)[0]
                #expect(try row.decode((String.self, Int.self, String.self)) == ("hello, anna", 3, "hello"))
            }
        }
    }

    @Test func `optional values and arrays are bound by name`() async throws {
        let file = StatementFile(
            name: "any",
            text: "SELECT :missing::text IS NULL, :present::text, :ids::bigint[], :reasons::text[], :bodies::bytea[]"
        )
        let reasons: [String?] = ["late", nil]
        let bodies: [[UInt8]] = [[0, 1], []]
        let statement = Statement(
            file,
            [
                "missing": String?.none, "present": String?.some("here"), "ids": [1, 2] as [Int64], "reasons": reasons,
                "bodies": bodies,
            ]
        )
        try await withConnection { connection, _ in
            let row = try await connection.query(statement)[0]
            #expect(try row.decode(0, as: Bool.self))
            #expect(try row.decode(1, as: String.self) == "here")
            #expect(try row.decode(2, as: [Int64].self) == [1, 2])
            #expect(try row.decode(3, as: [String?].self) == reasons)
            #expect(try row.decode(4, as: [[UInt8]].self) == bodies)
        }
    }

    @Test(
        arguments: [
            (["greeting": "hello", "times": 3], "bind :name has no value"),
            (["greeting": "hello", "name": "anna", "times": 3, "nmae": "anna"], "the statement has no bind :nmae"),
            (["greeting": "hello", "name": "anna", "times": 3, "times": 4], "a bind has two values"),
            (
                ["greeting": "hello", "name": "an\0na", "times": 3],
                "bind :name: text contains a NUL character, which PostgreSQL cannot store"
            ),
        ] as [(KeyValuePairs<String, any PostgresEncodable>, String)]
    )
    func `the error names a missing, unknown or refused value, and nothing is sent`(
        values: KeyValuePairs<String, any PostgresEncodable>,
        message: String
    ) async throws {
        try await withConnection { connection, _ in
            let error = try await postgresError { try await connection.query(Statement(Self.greeting, values)) }
            #expect(error.code == .invalidBind)
            #expect(error.description == "\(message) (statement greet)")
        }
    }

    @Test func `an error contains the name of the file`() async throws {
        let file = StatementFile(name: "divide", text: "SELECT 1 / :divisor::integer")
        try await withConnection { connection, _ in
            let error = try await postgresError { try await connection.query(Statement(file, ["divisor": Int32(0)])) }
            #expect(error.description.hasSuffix("statement divide)"))
        }
    }
}
