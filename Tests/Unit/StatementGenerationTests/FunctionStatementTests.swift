import StatementGeneration
import Testing

/// Calls of functions, made of their signatures.
struct FunctionStatementTests {
    private static func types() throws -> SchemaTypes {
        var types = SchemaTypes()
        try types.read(
            """
            CREATE TABLE appstore.endpoints (name text);
            CREATE TYPE appstore.environment AS ENUM ('Production', 'Sandbox');
            CREATE TYPE appstore.repair_filter AS (result text, reason text);
            """
        )
        return types
    }

    /// The Swift signature and the text of the call.
    private static func call(_ sql: String) throws -> (swift: String, sql: String)? {
        let functions = try FunctionSignature.all(in: sql, types: types())
        #expect(functions.count == 1)
        guard let text = try StatementText(path: "functions/f.sql", function: functions[0], types: types()) else { return nil }
        return (try text.signature(), text.sql)
    }

    @Test(
        arguments: [
            ("feed_end() RETURNS void", "feedEnd()", "SELECT appstore.feed_end()"),
            (
                "pause(name text, why text DEFAULT NULL) RETURNS void", "pause(name: String, why: String? = nil)",
                "SELECT appstore.pause(name => $1, why => $2)"
            ),
            (
                "lease(p_url_ids uuid[], p_kinds text[] /* null */, p_near integer) RETURNS TABLE (id bigint, \"position\" bigint)",
                "lease(urlIDs: [some PostgresArrayElement<UUID>], kinds: [String]?, near: Int32)",
                "SELECT id, \"position\" FROM appstore.lease(p_url_ids => $1, p_kinds => $2, p_near => $3)"
            ),
            (
                "read(environment appstore.environment, others appstore.environment[], day date) RETURNS SETOF text",
                "read(environment: String, others: [some PostgresArrayElement<String>], day: String)",
                """
                SELECT * FROM appstore.read(environment => $1::appstore.environment, others => $2::appstore.environment[], day => $3::date)
                """
            ),
            (
                "f(a bytea, b smallint, c bigint, d double precision, e timestamptz, f interval, g jsonb, h boolean) RETURNS appstore.environment",
                "f(a: [UInt8], b: Int16, c: Int64, d: Double, e: PostgresTimestamp, f: Duration, g: JSONText, h: Bool)",
                "SELECT appstore.f(a => $1, b => $2, c => $3, d => $4, e => $5, f => $6, g => $7, h => $8)"
            ),
            (
                "f(n bigint DEFAULT -1, a integer = 8, b boolean DEFAULT TRUE, c text DEFAULT 'it''s \"x\"', d appstore.environment DEFAULT 'Sandbox') RETURNS void",
                "f(a: Int32 = 8, b: Bool = true, c: String = \"it\\'s \\\"x\\\"\", d: String = \"Sandbox\")",
                "SELECT appstore.f(a => $1, b => $2, c => $3, d => $4::appstore.environment)"
            ),
            (
                "f(a text, at timestamptz DEFAULT clock_timestamp(), b text DEFAULT coalesce(NULL, 'x, (y'), c text[] DEFAULT '{}') RETURNS void",
                "f(a: String)", "SELECT appstore.f(a => $1)"
            ),
            (
                "\"position\"(IN \"position\" bigint, -- where it is, (see there)\n OUT a text, /* , */ OUT b text)",
                "position(position: Int64)", "SELECT a, b FROM appstore.\"position\"(\"position\" => $1)"
            ),
            (
                "f(filter appstore.repair_filter /* null */) RETURNS appstore.endpoints", "f(filter: JSONText?)",
                "SELECT * FROM appstore.f(filter => jsonb_populate_record(NULL::appstore.repair_filter, $1))"
            ),
            ("f(OUT result integer)", "f()", "SELECT appstore.f()"),
            ("f(OUT a integer, OUT b integer) RETURNS record", "f()", "SELECT a, b FROM appstore.f()"),
            ("f(INOUT a text, INOUT b text)", "f(a: String, b: String)", "SELECT a, b FROM appstore.f(a => $1, b => $2)"),
        ]
    )
    func `a call has the parameters of the function`(signature: String, swift: String, sql: String) throws {
        let definition = "CREATE OR REPLACE FUNCTION appstore.\(signature)\nLANGUAGE sql AS $$ SELECT ';', $1 $$;"
        let call = try #require(try Self.call(definition))
        #expect(call.swift == swift)
        #expect(call.sql == sql)
    }

    @Test(arguments: ["f() RETURNS trigger", "f(e appstore.endpoints) RETURNS boolean", "f(e appstore.endpoints[]) RETURNS boolean"])
    func `a function whose arguments no program can bind has no call`(signature: String) throws {
        #expect(try Self.call("CREATE FUNCTION appstore.\(signature) LANGUAGE sql AS $$ $$;") == nil)
    }

    @Test func `procedures, aggregates and what bodies say are no functions`() throws {
        let text = """
            -- CREATE FUNCTION appstore.a() RETURNS void
            CREATE PROCEDURE appstore.b(c text) LANGUAGE plpgsql AS $b$ CREATE FUNCTION appstore.c() RETURNS void; $b$;
            CREATE AGGREGATE appstore.d(bytea, text) (SFUNC = appstore.chain_link, STYPE = bytea);
            COMMENT ON FUNCTION appstore.a IS 'CREATE FUNCTION appstore.e() RETURNS void';
            """
        #expect(try FunctionSignature.all(in: text, types: Self.types()) == [])
    }

    @Test(
        arguments: [
            (
                "CREATE FUNCTION appstore.f(name txet) RETURNS void AS $$ $$;",
                "name of appstore.f has the type txet, which cannot be bound", 1
            ),
            (
                "CREATE FUNCTION appstore.f(e appstore.endpoint) RETURNS void AS $$ $$;",
                "e of appstore.f has the type appstore.endpoint, which cannot be bound", 1
            ),
            ("CREATE FUNCTION appstore.f() RETURNS record AS $$ $$;", "a record without OUT parameters has no columns", 1),
            ("CREATE FUNCTION appstore.f(a text /*NULL*/) RETURNS void AS $$ $$;", "/*NULL*/ is to be written /* null */", 1),
            (
                "CREATE FUNCTION appstore.f(a text DEFAULT 'x' /* null */) RETURNS void AS $$ $$;",
                "a: the mark of null is before DEFAULT", 1
            ),
            ("\nCREATE FUNCTION appstore.f(text) RETURNS void AS $$ $$;", "text has no name, or no type", 2),
            (
                "CREATE FUNCTION appstore.f(name text\n VARIADIC more text[]) RETURNS void AS $$ $$;",
                "\"VARIADIC\" where , or ) was expected", 2
            ),
            ("CREATE FUNCTION appstore.f(VARIADIC more text[]) RETURNS void AS $$ $$;", "VARIADIC parameters are not supported", 1),
            ("CREATE FUNCTION appstore.f(name text)\nLANGUAGE sql AS $$ $$;", "\"LANGUAGE\" where RETURNS was expected", 2),
            ("CREATE FUNCTION appstore.f(name text", "the end where , or ) was expected", 1),
            ("CREATE FUNCTION appstore.f() RETURNS TABLE (a text\n b text) AS $$ $$;", "\"b\" where ) was expected", 2),
            ("CREATE FUNCTION appstore.f() RETURNS void AS $$\n $;", "no end of the literal", 1),
            ("CREATE OR REPLACE FUNCTION f(a numeric(3)) RETURNS void AS $$ $$;", "\"(\" where , or ) was expected", 1),
        ]
    )
    func `what is not understood is an error with its line`(text: String, message: String, line: Int) throws {
        let error = #expect(throws: StatementError.self) { try Self.call(text) }
        #expect(error?.message == message)
        #expect(error?.line == line)
    }

    @Test func `a role may execute what is granted, and nothing else is meant`() throws {
        let granted = try grantedFunctions(
            """
            GRANT SELECT ON appstore.feed TO appstore_worker;
            GRANT EXECUTE ON FUNCTION appstore.a, -- and
                appstore.b TO appstore_worker, appstore_viewer;
            GRANT EXECUTE ON PROCEDURE appstore.c TO appstore_operator;
            DO $$ BEGIN EXECUTE 'GRANT EXECUTE ON FUNCTION appstore.d TO x'; END $$;
            """
        )
        #expect(granted == ["appstore.a", "appstore.b"])
        #expect(throws: StatementError.self) { try grantedFunctions("GRANT EXECUTE ON FUNCTION appstore.a appstore.b TO x;") }
    }
}
