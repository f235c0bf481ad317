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
    /// That of the program.
    private let version = SchemaManifest().version
    private static let contract: Statement = "SELECT contract::text FROM appstore.fence"

    @Test func `a step is applied once, and functions and views are created again after it`() async throws {
        let database = try await InboxDatabase.make()
        let next = SchemaManifest().adding("DROP VIEW appstore.failed; CREATE TABLE appstore.more (id bigint);")
        let changes = try await database.migrate(next)
        #expect(changes.steps == [SchemaManifest.step(1)])
        #expect(changes.description == "Applied \(SchemaManifest.step(1)), functions, views and privileges.")
        #expect(try await database.lines(Self.history) == ["\(version) tables f", "\(version + 1) \(SchemaManifest.step(1)) f"])
        #expect(try await database.lines(Self.contract) == ["\(SchemaManifest().contract)"])
        #expect(try await database.differences(next) == ["unknown: table appstore.more"])
        #expect(try await database.migrate(next).isEmpty)
        #expect(try await database.differences() == ["the schema has version \(version + 1), this program makes \(version)"])
    }

    @Test func `a new database is created in the last version, without the steps`() async throws {
        let database = try await TestCluster.shared.makeDatabase()
        let next = SchemaManifest().adding("-- breaking\nSELECT 1/0;")
        #expect(try await database.migrate(next).created == version + 1)
        #expect(try await database.lines(Self.history) == ["\(version + 1) tables f"])
        #expect(try await database.lines(Self.contract) == ["\(version + 1)"])
    }

    @Test(arguments: [
        ("SELECT 1/0;", "", "_fail: division by zero"),
        ("SELECT 1;", "CREATE NONSENSE", "functions/test/mine: syntax error"),
        ("DROP INDEX appstore.audit_log_by_event;", "", "missing: index appstore.audit_log_by_event"),
        ("ALTER TABLE appstore.audit_log ADD COLUMN more text;", "", "different: table appstore.audit_log"),
    ])
    func `an upgrade that fails has changed nothing`(step: String, definition: String, error text: String) async throws {
        let database = try await InboxDatabase.make()
        let before = try await database.fingerprint()
        let next = SchemaManifest().adding("-- breaking\nDROP VIEW appstore.failed; CREATE TABLE appstore.more (id bigint);")
            .adding(step, name: "fail").defining(definition)
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(next) }
        #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
        #expect(try await database.fingerprint() == before)
        #expect(try await database.lines(Self.history) == ["\(version) tables f"])
        #expect(try await database.lines(Self.contract) == ["\(SchemaManifest().contract)"])
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
        #expect(try await database.lines(Self.contract) == ["\(version + 1)"])
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
        #expect(try await database.migrate(Self.concurrent).steps == [SchemaManifest.step(1)])
        #expect(try await database.lines(Self.made) == ["appstore.audit_log_by_note", "appstore.owner_links_by_note"])
        #expect(try await database.lines(Self.history) == ["\(version) tables f", "\(version + 1) \(SchemaManifest.step(1)) f"])
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
            #expect(try await database.lines(Self.history) == ["\(version) tables f"])
            try await holder.runScript("COMMIT")
        }
        #expect(try await database.migrate(Self.concurrent).steps == [SchemaManifest.step(1)])
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
                name: "index"
            )
            .adding(Self.partitioned, name: "index")
        #expect(try await database.migrate(next).steps.count == 3)
        #expect(try await database.differences(next) == ["unknown: index appstore.outcomes_by_attempts"])
        #expect(try await database.lines(Self.invalid) == [])
    }

    /// As the README has it.
    private static let partitioned = """
        -- concurrently
        SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON %s (attempts)', c.relname || '_by_attempts', c.oid::regclass)
        FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'appstore.outcomes'::regclass AND to_regclass('appstore.outcomes_by_attempts') IS NULL
        UNION ALL
        SELECT 'CREATE INDEX IF NOT EXISTS outcomes_by_attempts ON appstore.outcomes (attempts)'
        """

    @Test func `a partition that is made before an upgrade is repeated has the index once`() async throws {
        let database = try await InboxDatabase.make()
        let next = SchemaManifest().adding(Self.partitioned)
        await #expect(throws: SchemaError.self) { try await database.migrate(next.adding("SELECT 1/0;", name: "fail")) }
        try await database.run(
            """
            SET ROLE appstore_owner;
            ALTER TABLE appstore.outcomes DETACH PARTITION appstore.outcomes_rest;
            CREATE TABLE appstore.outcomes_late PARTITION OF appstore.outcomes FOR VALUES FROM (1000000) TO (2000000);
            ALTER TABLE appstore.outcomes ATTACH PARTITION appstore.outcomes_rest FOR VALUES FROM (2000000) TO (MAXVALUE);
            """
        )
        #expect(try await database.migrate(next).steps == [SchemaManifest.step(1)])
        let indexes = try await database.lines(
            """
            SELECT concat_ws(' ', i.inhrelid::regclass, count(*)) FROM pg_inherits AS i JOIN pg_index AS x ON x.indrelid = i.inhrelid
            WHERE i.inhparent = 'appstore.outcomes'::regclass AND pg_get_indexdef(x.indexrelid) LIKE '%(attempts)'
            GROUP BY i.inhrelid ORDER BY 1
            """
        )
        #expect(indexes == ["default", "first", "late", "rest"].map { "appstore.outcomes_\($0) 1" })
    }

    @Test func `a value of an enum can be used by the steps and views of its upgrade`() async throws {
        let database = try await InboxDatabase.make()
        var next = SchemaManifest().inserting(", 'Xcode'", before: ");\nCOMMENT ON TYPE appstore.environment", in: "tables/10_types")
        next.views.append(
            SchemaFile(
                name: "views/test",
                text: "CREATE OR REPLACE VIEW appstore.test_view AS SELECT 'Xcode'::appstore.environment AS environment;"
            )
        )
        next = try await next.withFingerprint()
            .adding("-- concurrently\nVALUES ('ALTER TYPE appstore.environment ADD VALUE IF NOT EXISTS ''Xcode''')")
            .adding("SELECT 'Xcode'::appstore.environment;", name: "use")
        #expect(try await database.migrate(next).steps.count == 2)
        #expect(try await database.differences(next) == [])
        #expect(try await database.lines("SELECT environment::text FROM appstore.test_view") == ["Xcode"])
    }

    @Test(arguments: [
        "SELECT 'CREATE INDEX CONCURRENTLY IF NOT EXISTS more_by_id ON appstore.more (id)' FROM appstore.more",
        "SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS more_by_id ON %s (id)', 'appstore.more'::regclass)",
        "SELECT 'CREATE INDEX CONCURRENTLY IF NOT EXISTS more_by_id ON appstore.more (id)' FROM appstore.products HAVING count(more) = 0",
        "VALUES ('CREATE INDEX CONCURRENTLY IF NOT EXISTS more_by_id ON appstore.more (id) WHERE id <> ''a''::appstore.kind')",
        "VALUES ('ALTER TYPE appstore.kind ADD VALUE IF NOT EXISTS ''b''')",
    ])
    func `a concurrent step may name what an earlier missing step makes`(query: String) async throws {
        let database = try await InboxDatabase.make()
        let next = try await SchemaManifest()
            .inserting(
                "ALTER TABLE appstore.products ADD COLUMN more text;\n",
                before: "COMMENT ON TABLE appstore.products",
                in: "tables/60_shop"
            )
            .withFingerprint()
            .adding(
                """
                ALTER TABLE appstore.products ADD COLUMN more text;
                CREATE TYPE appstore.kind AS ENUM ('a');
                CREATE TABLE appstore.more (id appstore.kind);
                INSERT INTO appstore.more VALUES ('a');
                """
            )
            .adding("-- concurrently\n" + query, name: "run")
        #expect(try await database.migrate(next).steps.count == 2)
        let made = try await database.lines("SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'appstore.more'::regclass")
        let values = try await database.lines("SELECT unnest(enum_range(NULL::appstore.kind))::text")
        #expect(query.contains("ALTER TYPE") ? values == ["a", "b"] : made == ["appstore.more_by_id"])
    }

    @Test func `an invalid index is dropped when the transactions that use its table have ended`() async throws {
        let database = try await InboxDatabase.make()
        try await database.run(
            """
            CREATE INDEX audit_log_by_note ON appstore.audit_log (note);
            UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'appstore.audit_log_by_note'::regclass;
            """
        )
        try await database.withConnection { holder in
            try await holder.runScript("BEGIN; SELECT FROM appstore.audit_log")
            // The time that it has waited shows that the timeout does not count.
            async let changes = database.migrate(Self.concurrent, lockTimeout: .milliseconds(100))
            try await database.withConnection { observer in
                try await eventually("the drop waits for longer than the lock timeout") {
                    try await observer.query(
                        """
                        SELECT FROM pg_stat_activity WHERE query LIKE 'DROP INDEX CONCURRENTLY%' AND datname = current_database()
                          AND wait_event_type = 'Lock' AND query_start < clock_timestamp() - interval '200 ms'
                        """
                    ).count == 1
                }
            }
            try await holder.runScript("COMMIT")
            #expect(try await changes.steps == [SchemaManifest.step(1)])
        }
        #expect(try await database.lines(Self.made) == ["appstore.audit_log_by_note", "appstore.owner_links_by_note"])
    }
}
