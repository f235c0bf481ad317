import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Schema
import Testing

/// Steps from one release to the next.
struct SchemaStepTests {
    private static let history: Statement =
        "SELECT concat_ws(' ', version, name, is_breaking) FROM appstore.schema_history ORDER BY version"
    private static let contract: Statement = "SELECT contract::text FROM appstore.fence"

    @Test func `a step is applied once, and functions and views are created again after it`() async throws {
        let database = try await InboxDatabase.make()
        let next = SchemaManifest().adding("DROP VIEW appstore.failed; CREATE TABLE appstore.more (id bigint);")
        let changes = try await database.migrate(next)
        #expect(changes.steps == ["steps/0002_change"])
        #expect(changes.description == "Applied steps/0002_change, functions, views and privileges.")
        #expect(try await database.lines(Self.history) == ["1 tables f", "2 steps/0002_change f"])
        #expect(try await database.lines(Self.contract) == ["1"])
        #expect(try await database.differences(next) == ["unknown: table appstore.more"])
        #expect(try await database.migrate(next).isEmpty)
        #expect(try await database.differences() == ["the schema has version 2, this program makes 1"])
    }

    @Test func `a new database is created in the last version, without the steps`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let next = SchemaManifest().adding("-- breaking\nSELECT 1/0;")
        #expect(try await database.migrate(next).created == 2)
        #expect(try await database.lines(Self.history) == ["2 tables f"])
        #expect(try await database.lines(Self.contract) == ["2"])
    }

    @Test(arguments: [
        ("SELECT 1/0;", "", "steps/0003_fail: division by zero"),
        ("SELECT 1;", "CREATE NONSENSE", "functions/test/mine: syntax error"),
        ("DROP INDEX appstore.audit_log_by_event;", "", "missing: index appstore.audit_log_by_event"),
        ("ALTER TABLE appstore.audit_log ADD COLUMN more text;", "", "different: table appstore.audit_log"),
    ])
    func `an upgrade that fails has changed nothing`(step: String, definition: String, error text: String) async throws {
        let database = try await InboxDatabase.make()
        let before = try await database.fingerprint()
        let next = SchemaManifest().adding("-- breaking\nDROP VIEW appstore.failed; CREATE TABLE appstore.more (id bigint);")
            .adding(step, name: "steps/0003_fail").defining(definition)
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(next) }
        #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
        #expect(try await database.fingerprint() == before)
        #expect(try await database.lines(Self.history) == ["1 tables f"])
        #expect(try await database.lines(Self.contract) == ["1"])
        #expect(try await database.migrate().isEmpty)
    }

    @Test func `a breaking step raises the contract after the last batch of earlier workers`() async throws {
        let database = try await InboxDatabase.make()
        let next = SchemaManifest().adding("-- breaking\nSELECT 1;")
        try await database.withConnection(user: "appstore_worker") { worker in
            try await worker.withTransaction { batch in
                _ = try await batch.query("SELECT contract FROM appstore.fence")
                let error = await #expect(throws: SchemaError.self) { try await database.migrate(next, lockTimeout: .milliseconds(100)) }
                #expect(error?.code == .locked)
            }
            _ = try await SchemaFinding(.worker, worker)
            try await database.migrate(next)
            let error = await #expect(throws: SchemaError.self) { try await SchemaFinding(.worker, worker) }
            #expect(error?.code == .databaseIsNewer)
        }
        #expect(try await database.lines(Self.contract) == ["2"])
    }

    private static let concurrent = SchemaManifest().adding(
        """
        -- concurrently
        SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON appstore.%I (note)', name || '_by_note', name)
        FROM unnest(ARRAY['audit_log', 'owner_links']) AS name
        """
    )
    private static let made: Statement = """
        SELECT i.indexrelid::regclass::text FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indisvalid AND c.relname LIKE '%\\_by\\_note' ORDER BY 1
        """
    private static let invalid: Statement = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"

    @Test func `a concurrent step makes indexes`() async throws {
        let database = try await InboxDatabase.make()
        #expect(try await database.migrate(Self.concurrent).steps == ["steps/0002_change"])
        #expect(try await database.lines(Self.made) == ["appstore.audit_log_by_note", "appstore.owner_links_by_note"])
        #expect(try await database.lines(Self.history) == ["1 tables f", "2 steps/0002_change f"])
        #expect(try await database.migrate(Self.concurrent).isEmpty)
    }

    /// How the making of an index ends early.
    enum Interruption: String, CaseIterable {
        case cancel, terminate
    }

    @Test(arguments: Interruption.allCases)
    func `an index that is interrupted while it is made is made again`(by interruption: Interruption) async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { holder in
            // CREATE INDEX CONCURRENTLY waits for older snapshots, after it has put the invalid index into the catalogue.
            try await holder.runScript("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM appstore.fence")
            async let interrupted: SchemaChanges? = {
                do { return try await database.migrate(Self.concurrent) } catch { return nil }
            }()
            let waiting =
                "FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND datname = current_database() AND wait_event_type = 'Lock'"
            try await database.withConnection { observer in
                try await eventually("the index waits for the transaction") {
                    try await observer.query("SELECT \(unsafeRaw: waiting) AND EXISTS (SELECT FROM pg_index WHERE NOT indisvalid)").count
                        == 1
                }
                try await observer.execute("SELECT \(unsafeRaw: "pg_\(interruption)_backend(pid) \(waiting)")")
            }
            #expect(await interrupted == nil)
            // After the end of its session the next run drops it.
            #expect(try await database.lines(Self.invalid) == (interruption == .cancel ? [] : ["appstore.audit_log_by_note"]))
            #expect(try await database.lines(Self.history) == ["1 tables f"])
            try await holder.runScript("COMMIT")
        }
        #expect(try await database.migrate(Self.concurrent).steps == ["steps/0002_change"])
        #expect(try await database.lines(Self.made) == ["appstore.audit_log_by_note", "appstore.owner_links_by_note"])
        #expect(try await database.lines(Self.invalid) == [])
    }

    @Test func `a concurrent step indexes a column that an earlier step adds, and a partitioned table`() async throws {
        let database = try await InboxDatabase.make()
        let next = try await SchemaManifest()
            .inserting(
                "ALTER TABLE appstore.products ADD COLUMN more text; CREATE INDEX products_by_more ON appstore.products (more);\n",
                before: "COMMENT ON TABLE appstore.products",
                in: "tables/60_shop"
            )
            .withFingerprint()
            .adding("ALTER TABLE appstore.products ADD COLUMN more text;")
            .adding(
                "-- concurrently\nVALUES ('CREATE INDEX CONCURRENTLY IF NOT EXISTS products_by_more ON appstore.products (more)')",
                name: "steps/0003_index"
            )
            .adding(
                """
                -- concurrently
                SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON %s (attempts)', i.inhrelid::regclass, i.inhrelid::regclass)
                FROM pg_inherits AS i WHERE i.inhparent = 'appstore.outcomes'::regclass
                UNION ALL
                SELECT 'CREATE INDEX IF NOT EXISTS outcomes_by_attempts ON appstore.outcomes (attempts)'
                """,
                name: "steps/0004_index"
            )
        #expect(try await database.migrate(next).steps.count == 3)
        #expect(try await database.differences(next) == ["unknown: index appstore.outcomes_by_attempts"])
        #expect(try await database.lines(Self.invalid) == [])
    }
}
