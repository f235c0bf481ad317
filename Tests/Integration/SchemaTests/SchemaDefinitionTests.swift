import InboxTesting
import Postgres
import SQL
import Schema
import Testing

/// Functions, views and privileges, which are replaced when they differ.
struct SchemaDefinitionTests {
    private static func answer(_ value: Int) -> String {
        "CREATE OR REPLACE FUNCTION appstore.answer() RETURNS integer LANGUAGE sql AS 'SELECT \(value)';"
    }

    @Test func `a changed file is applied, and objects that no file creates are dropped`() async throws {
        let database = try await InboxDatabase.make()
        let manifest = SchemaManifest()
        #expect(try await database.migrate(manifest.defining(Self.answer(1))).isRedefined)
        #expect(try await database.lines("SELECT appstore.answer()::text") == ["1"])
        // The result has another type, which CREATE OR REPLACE does not permit.
        let other = "CREATE OR REPLACE FUNCTION appstore.answer() RETURNS text LANGUAGE sql AS $$SELECT 'two'$$;"
        #expect(try await database.migrate(manifest.defining(other)).isRedefined)
        #expect(try await database.lines("SELECT appstore.answer()") == ["two"])
        #expect(try await database.migrate(manifest).isRedefined)
        #expect(try await database.lines("SELECT to_regprocedure('appstore.answer()') IS NULL || ''") == ["true"])
        #expect(try await database.differences().isEmpty)
    }

    @Test func `a function with a comment gets an argument more, and the former one is dropped`() async throws {
        let database = try await InboxDatabase.make()
        func ask(_ arguments: String) -> String {
            """
            CREATE OR REPLACE FUNCTION appstore.ask(\(arguments)) RETURNS integer LANGUAGE sql AS 'SELECT 1';
            COMMENT ON FUNCTION appstore.ask IS 'Asks.';
            """
        }
        for arguments in ["p_first integer", "p_first integer, p_second integer DEFAULT NULL"] {
            try await database.migrate(SchemaManifest().defining(ask(arguments)))
            #expect(try await database.lines("SELECT appstore.ask(p_first => 1)::text") == ["1"])
            #expect(try await database.lines("SELECT count(*)::text FROM pg_proc WHERE proname = 'ask'") == ["1"])
        }
    }

    @Test func `functions and views may name objects of later files`() async throws {
        let database = try await InboxDatabase.make()
        let early = "CREATE FUNCTION appstore.early() RETURNS integer LANGUAGE sql AS 'SELECT v.answer FROM appstore.test_view AS v';"
        var manifest = SchemaManifest().defining(early, name: "functions/test/early").defining(Self.answer(3))
        manifest.views.append(SchemaFile(name: "views/test", text: "CREATE VIEW appstore.test_view AS SELECT appstore.answer() AS answer;"))
        try await database.migrate(manifest)
        #expect(try await database.lines("SELECT appstore.early()::text") == ["3"])
        try await database.migrate()
        #expect(try await database.differences().isEmpty)
    }

    @Test(arguments: [
        "CREATE FUNCTION appstore.wrong() RETURNS integer LANGUAGE sql AS 'SELECT nothing FROM appstore.nowhere';",
        "CREATE FUNCTION appstore.wrong() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN; END';",
    ])
    func `a function with an invalid body is refused by name, and nothing changes`(text: String) async throws {
        let database = try await InboxDatabase.make()
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(SchemaManifest().defining(text)) }
        #expect(
            error?.description.hasPrefix("functions, views and privileges: appstore.wrong()") == true,
            "\(error.map(String.init(describing:)) ?? "")"
        )
        #expect(try await database.differences().isEmpty)
        #expect(try await database.migrate().isEmpty)
    }

    @Test func `a file with an error is named`() async throws {
        let database = try await InboxDatabase.make()
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(SchemaManifest().defining("CREATE NONSENSE")) }
        #expect(error?.code == .fileFailed)
        #expect(error?.description.hasPrefix("functions/test/mine: ") == true)
    }

    @Test(arguments: [
        ("DROP FUNCTION appstore.repeat_call", "missing: function appstore.repeat_call(bigint,text)"),
        ("DROP FUNCTION appstore.schema_fingerprint", "missing: function appstore.schema_fingerprint()"),
        ("ALTER FUNCTION appstore.repeat_call RESET search_path", "different: function appstore.repeat_call(bigint,text)"),
        ("GRANT DELETE ON appstore.inbox TO appstore_viewer", "different: privileges of appstore_viewer"),
        ("GRANT EXECUTE ON FUNCTION appstore.repeat_call TO PUBLIC", "unknown: privileges of PUBLIC"),
        ("ALTER VIEW appstore.failed SET (security_barrier = true)", "different: view appstore.failed"),
    ])
    func `a manual change is reported and undone`(script: String, line: String) async throws {
        let database = try await InboxDatabase.make()
        try await database.run(script)
        let differences = try await database.differences()
        #expect(differences.contains(line), "\(differences)")
        #expect(try await database.migrate().isRedefined)
        #expect(try await database.differences().isEmpty)
    }

    @Test(arguments: [
        ("DROP INDEX appstore.audit_log_by_event", "missing: index appstore.audit_log_by_event"),
        ("ALTER TABLE appstore.audit_log ALTER COLUMN note SET NOT NULL", "different: table appstore.audit_log"),
        ("ALTER TABLE appstore.products DROP CONSTRAINT products_pkey CASCADE", "missing: constraint products_pkey on appstore.products"),
        ("ALTER TABLE appstore.products ADD COLUMN mine text", "different: table appstore.products"),
        ("ALTER TABLE appstore.products FORCE ROW LEVEL SECURITY", "different: table appstore.products"),
        (
            "ALTER SCHEMA appstore_reports OWNER TO postgres; GRANT ALL ON SCHEMA appstore_reports TO appstore_owner",
            "different: schema appstore_reports"
        ),
    ])
    func `a manual change of a table is an error of migrate, which changes nothing`(script: String, line: String) async throws {
        let database = try await InboxDatabase.make()
        try await database.run(script)
        let differences = try await database.differences()
        #expect(differences.contains(line), "\(differences)")
        for manifest in [SchemaManifest(), SchemaManifest().defining(Self.answer(1)), SchemaManifest().adding("SELECT 1;")] {
            let error = await #expect(throws: SchemaError.self) { try await database.migrate(manifest) }
            #expect(error?.code == .different)
            #expect(error?.description.contains(line) == true, "\(error?.description ?? "")")
        }
        #expect(try await database.differences() == differences)
    }

    @Test(arguments: [
        ("CREATE INDEX mine ON appstore.audit_log (note)", "unknown: index appstore.mine"),
        ("ALTER TABLE appstore.audit_log ADD CONSTRAINT mine CHECK (note <> 'x')", "unknown: constraint mine on appstore.audit_log"),
        ("CREATE TABLE appstore.mine (); ALTER TABLE appstore.mine OWNER TO appstore_owner", "unknown: table appstore.mine"),
        (
            "CREATE RULE mine AS ON DELETE TO appstore.fx_rates DO ALSO DELETE FROM appstore.products WHERE product_id = 'x'",
            "unknown: rule mine on appstore.fx_rates"
        ),
        ("CREATE POLICY mine ON appstore.audit_log TO appstore_viewer USING (note <> 'x')", "unknown: policy mine on appstore.audit_log"),
        ("ALTER TABLE appstore.contracts SET (fillfactor = 50)", "different: settings of appstore.contracts"),
        ("ALTER TABLE appstore.fx_rates REPLICA IDENTITY FULL", "unknown: settings of appstore.fx_rates"),
    ])
    func `an operator's own objects and settings are reported by --check, and stay`(script: String, line: String) async throws {
        let database = try await InboxDatabase.make()
        try await database.run(script)
        #expect(try await database.differences().contains(line))
        #expect(try await database.migrate().isEmpty)
        #expect(try await database.migrate(SchemaManifest().defining(Self.answer(1))).isRedefined)
        #expect(try await database.differences().contains(line))
    }

    @Test func `prepared statements still work after all definitions are replaced`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_ingest") { ingest in
            let store: Statement = "SELECT event_id FROM appstore.receive(\([[UInt8]]([[1]]))) AS event_id"
            for round in 1...3 {
                // PostgreSQL keeps the plan from the sixth time on.
                for _ in 1...6 { try await ingest.execute(store) }
                let changes = try await database.migrate(SchemaManifest().defining(Self.answer(round)))
                #expect(changes.isRedefined)
            }
            try await ingest.execute(store)
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["19"])
    }
}
