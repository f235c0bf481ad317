import StatementGeneration
import Testing

/// Files of `sql/statements`.
struct StatementFileTests {
    private static func types() throws -> SchemaTypes {
        var types = SchemaTypes()
        try types.read("CREATE TYPE appstore.environment AS ENUM ('Production', 'Sandbox');")
        return types
    }

    private static func file(_ text: String, named name: String = "any") throws -> StatementText {
        try StatementText(path: "statements/\(name).sql", text: text, types: types())
    }

    private static let greeting = """
        -- Greets :unused.
        -- Returns one row.
        SELECT :greeting::text || ', ' || :user_id::text /* null */ AS greeting, :times::bigint AS times, :greeting AS again;

        """

    @Test func `binds are numbered by first appearance, and are arguments of their types`() throws {
        let file = try Self.file(Self.greeting, named: "greet_api_user")
        #expect(file.name == "greet_api_user")
        #expect(file.sql == "SELECT $1::text || ', ' || $2::text AS greeting, $3::bigint AS times, $1 AS again;")
        #expect(try file.signature() == "greetAPIUser(greeting: String, userID: String?, times: Int64)")
    }

    @Test(
        arguments: [
            "SELECT '12:30', ':a', 'it''s :a', ''",
            #"SELECT e':a \' :a', E'\\', "a:b", ":a""b""#,
            "SELECT a::text, (b) :: int, c[1:2], d := 1",
            "SELECT 1 -- :a\n, 2 /* :a /* :a */ :a */, 3",
            "SELECT $$ :a $$, $tag$ :a $$ :a $tag$, a$b",
            "SELECT 1 :",
        ]
    )
    func `text that only resembles a bind is unchanged`(text: String) throws {
        let file = try Self.file(text)
        #expect(file.sql == text)
        #expect(try file.signature() == "any()")
    }

    @Test(
        arguments: [
            ("/* :a */ -- :a\n\n  SELECT :b::text", "SELECT $1::text", "b: String"),
            ("SELECT ':'||:a::text||':'", "SELECT ':'||$1::text||':'", "a: String"),
            (
                "SELECT :a_1::integer[], -:b::double precision", "SELECT $1::integer[], -$2::double precision",
                "a1: [some PostgresArrayElement<Int32>], b: Double"
            ),
            ("SELECT $$ $$||:a::text", "SELECT $$ $$||$1::text", "a: String"),
            ("SELECT name'x:a', :b::text::jsonb", "SELECT name'x:a', $1::text::jsonb", "b: String"),
            ("SELECT :a, :a::uuid[] /* null */", "SELECT $1, $1::uuid[]", "a: [UUID]?"),
            (
                "SELECT unnest(:a::text[] COLLATE \"C\")", "SELECT unnest($1::text[] COLLATE \"C\")",
                "a: [some PostgresArrayElement<String>]"
            ),
            ("SELECT :a::appstore.environment /* other */", "SELECT $1::appstore.environment /* other */", "a: String"),
            (
                "-- list some:\n--   a integer, b text\n-- list other:\n--   c text\nSELECT {some}, '{}', {some other: :%name::%type[]\n AS %name}, '{x}'",
                "SELECT a, b, '{}', $1::integer[] AS a, $2::text[] AS b, $3::text[] AS c\n, '{x}'",
                "a: [some PostgresArrayElement<Int32>], b: [some PostgresArrayElement<String>], c: [some PostgresArrayElement<String>]"
            ),
        ]
    )
    func `a bind is found next to any other token`(text: String, sql: String, arguments: String) throws {
        let file = try Self.file(text)
        #expect(file.sql == sql)
        #expect(try file.signature() == "any(\(arguments))")
    }

    @Test(
        arguments: [
            ("SELECT 1,\n :a", ":a has no type", 2),
            ("SELECT :a::text,\n\n :a::bigint", ":a has two types", 3),
            ("SELECT $1::text, :a::text", "a bind has a name, such as :limit", 1),
            ("SELECT 1;\nSELECT 2", "a file has one statement", 2),
            ("SELECT :a::txet", ":a has the type txet, which cannot be bound", 1),
            ("SELECT :a::appstore.envornment", ":a has the type appstore.envornment, which cannot be bound", 1),
            ("-- A file.\nSELECT 'open :a", "no end of the quoted text", 2),
            ("SELECT 1 /* a /* b */", "no end of the comment", 1),
            ("-- list some:\n--   a integer\nSELECT 1", "the list some is not used", 1),
            ("-- list some\nSELECT 1", "a list is -- list NAME: with a name of its own", 1),
            ("-- list some:\n-- list some:\nSELECT 1", "a list is -- list NAME: with a name of its own", 2),
            ("-- list some:\n--   a integer, b\nSELECT {some}", " b is no column with a type", 2),
            ("-- list some:\n--   a integer\nSELECT\n{some other}", "there is no list other", 4),
            ("-- list some:\n--   a integer\nSELECT {some, 1}", "a list is written out as {NAME} or {NAME: TEXT}", 3),
            ("-- list some:\n--   a integer\nSELECT {some: %name", "a list is written out as {NAME} or {NAME: TEXT}", 3),
            ("-- list some:\n--   a integer\nSELECT {some:\n %name}, :c", ":c has no type", 4),
        ]
    )
    func `what is not understood is an error with its line`(text: String, message: String, line: Int) throws {
        let error = #expect(throws: StatementError.self) { try Self.file(text) }
        #expect(error?.message == message)
        #expect(error?.line == line)
    }

    @Test func `two statements of one name are an error that names both`() throws {
        let files = try [Self.file("SELECT 1", named: "read_a"), Self.file("SELECT 1", named: "readA")]
        let error = #expect(throws: StatementError.self) { try StatementSource.source(of: files) }
        #expect(error?.message == "statements/read_a.sql and statements/readA.sql both make Statement.readA")
    }
}
