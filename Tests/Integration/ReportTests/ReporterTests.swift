import InboxTesting
import Postgres
import Testing

/// What the role `appstore_reporter` may do.
struct ReporterTests {
    private static let functions = [
        "active_subscriptions", "churn", "corrections", "movement", "mrr", "mrr_by_month", "refunds", "renewal_status_at", "retention",
        "subscriptions_daily", "trials",
    ]

    @Test func `the role reads the reports and nothing else`() async throws {
        let database = try await InboxDatabase.make()
        let functions = try await database.lines(
            """
            SELECT p.proname::text FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
            WHERE n.nspname ~ '^appstore' AND has_function_privilege('appstore_reporter', p.oid, 'EXECUTE') ORDER BY p.proname::text COLLATE "C"
            """
        )
        #expect(functions == Self.functions)
        let relations = try await database.lines(
            """
            SELECT c.oid::regclass::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname ~ '^appstore' AND c.relkind IN ('r', 'p', 'v', 'S')
              AND has_table_privilege('appstore_reporter', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
            """
        )
        #expect(relations == ["appstore_reports.transactions"])
        let schemas = try await database.lines(
            """
            SELECT n.nspname || ' ' || has_schema_privilege('appstore_reporter', n.oid, 'CREATE') FROM pg_namespace AS n
            WHERE n.nspname ~ '^appstore' AND has_schema_privilege('appstore_reporter', n.oid, 'USAGE, CREATE')
            """
        )
        #expect(schemas == ["appstore_reports false"])
    }

    @Test(arguments: [
        "transactions", "mrr()", "churn('2026-01-01', '2026-02-01')", "retention()", "renewal_status_at()",
        "trials('2026-01-01', '2026-02-01')", "refunds('2026-01-01', '2026-02-01')",
    ])
    func `it may ask`(report: String) async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_reporter") {
            try await $0.runScript("SELECT * FROM appstore_reports.\(report)")
        }
    }

    @Test(arguments: [
        ("SELECT FROM appstore.transactions", "42501"), ("SELECT FROM appstore_reports.charges", "42501"),
        ("SELECT FROM appstore_reports.levels('{2026-01-01}', NULL, false)", "42501"), ("SELECT FROM appstore.fence", "42501"),
        ("CREATE TABLE appstore_reports.mine ()", "25006"), ("CREATE TABLE public.mine ()", "25006"),
        ("SET transaction_read_only = off; CREATE TABLE appstore_reports.mine ()", "42501"),
        ("SELECT FROM appstore_reports.mrr(by => 'customer')", "22023"),
        ("SELECT FROM appstore_reports.movement('2026-01-01', '2026-02-01', every => 'hour')", "22023"),
        ("SELECT FROM appstore_reports.subscriptions_daily('1900-01-01', '2026-02-01')", "22023"),
        ("SELECT FROM appstore_reports.subscriptions_daily('2020-01-01', '2026-02-01', 'product')", "22023"),
        ("SELECT FROM appstore_reports.subscriptions_daily('-infinity', '2026-02-01')", "22023"),
        ("SELECT FROM appstore_reports.churn('0001-01-01', '9999-12-31', every => 'day')", "22023"),
    ])
    func `it may not`(script: String, state: String) async throws {
        let database = try await InboxDatabase.make()
        let error = await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_reporter") { try await $0.runScript(script) }
        }
        #expect(error?.sqlState?.rawValue == state, "\(error?.description ?? "")")
    }

    @Test func `a statement of the role has five minutes, and changes nothing`() async throws {
        let database = try await InboxDatabase.make()
        let settings = try await database.withConnection(user: "appstore_reporter") { connection in
            try await connection.query("SELECT current_setting('statement_timeout') || ' ' || current_setting('transaction_read_only')")[0]
                .decode(0, as: String.self)
        }
        #expect(settings == "5min on")
    }
}
