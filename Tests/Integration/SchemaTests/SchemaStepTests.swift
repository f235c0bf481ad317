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

    @Test func `a step that fails leaves those before it applied`() async throws {
        let database = try await InboxDatabase.make()
        let first = SchemaManifest().adding("CREATE TABLE appstore.more (id bigint);")
        let both = first.adding("CREATE TABLE appstore.other (id bigint); SELECT 1/0;", name: "steps/0003_fail")
        let error = await #expect(throws: SchemaError.self) { try await database.migrate(both) }
        #expect(error?.description.hasPrefix("steps/0003_fail: ") == true)
        #expect(try await database.lines(Self.history).count == 2)
        #expect(try await database.lines("SELECT coalesce(to_regclass('appstore.other')::text, 'none')") == ["none"])
        #expect(try await database.migrate(first).isRedefined)
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

    @Test func `a concurrent step runs each statement in its own transaction and waits for open ones`() async throws {
        let database = try await InboxDatabase.make()
        let next = SchemaManifest().adding(
            """
            -- concurrently
            SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON appstore.%I (note)', name || '_by_note', name)
            FROM unnest(ARRAY['audit_log', 'owner_links']) AS name
            """
        )
        #expect(try await database.migrate(next).steps.count == 1)
        let made = try await database.lines("SELECT indexname::text FROM pg_indexes WHERE indexname LIKE '%\\_by\\_note' ORDER BY 1")
        #expect(made == ["audit_log_by_note", "owner_links_by_note"])
        #expect(try await database.migrate(next).isEmpty)
    }
}
