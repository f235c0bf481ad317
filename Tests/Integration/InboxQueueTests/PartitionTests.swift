import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// How many partitions there are, and what happens when no worker makes them.
struct PartitionTests {
    private func expectSome50Partitions(of database: TestDatabase) async throws {
        let counts = try await database.lines("SELECT count(*)::text FROM appstore.inbox_partitions GROUP BY parent").compactMap { Int($0) }
        #expect(counts.count == 2 && counts.allSatisfy { $0 <= 52 }, "\(counts)")
    }

    @Test func `what is kept for ever has some fifty partitions at a billion events`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET bodies = NULL", in: database)
        // The first and the last event of each partition stand for all of it.
        let fill = """
            INSERT INTO appstore.inbox (event_id, source, received_at, body)
            SELECT e, 'notification_v2', now(), '\\x01'
            FROM appstore.inbox_event_id AS s JOIN appstore.inbox_partitions AS p ON p.from_id <= s.last_value AND p.to_id > s.last_value,
                 unnest(ARRAY[greatest(p.from_id, 1), p.to_id - 1]) AS e
            WHERE p.parent = 'inbox';
            """
        let outcomes = """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
            SELECT i.event_id, i.source, i.received_at, i.received_at, 1, 1, 'applied' FROM appstore.inbox AS i ON CONFLICT DO NOTHING;
            SELECT setval('appstore.inbox_event_id', (SELECT max(i.event_id) + 1 FROM appstore.inbox AS i));
            """
        repeat {
            _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
            try await MaintenanceBench.execute(fill + outcomes, in: database)
        } while try await database.lines("SELECT (last_value < 1000000000)::text FROM appstore.inbox_event_id") == ["true"]
        try await expectSome50Partitions(of: database)
    }

    @Test(arguments: ["bodies = '8 days', outcomes = '365 days'", "bodies = '1 day'", "bodies = '90 days', outcomes = '2 years'"])
    func `four hundred days leave some fifty partitions, whatever the ages are`(ages: String) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET \(ages)", in: database)
        for day in 0..<400 {
            try await MaintenanceBench.settled(2, result: "applied", age: "\(400 - day) days", in: database)
            _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
            if day % 20 == 0 { _ = try await MaintenanceBench.finish(.dropPartition, in: database) }
        }
        _ = try await MaintenanceBench.finish(.dropPartition, in: database)
        try await expectSome50Partitions(of: database)
        // A statement that reads all outcomes of a contract takes a lock on each partition and its indexes.
        try await database.withConnection(user: "appstore_worker") { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query("SELECT count(*) FROM appstore.outcomes WHERE original_transaction_id = \("1")")
                let locks = try await transaction.query("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()")
                #expect(try locks[0].decode(0, as: Int64.self) < 52 * 8)
            }
        }
    }

    @Test func `what comes while no worker makes partitions becomes one as it is`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(5000, result: "applied", age: "1 day", in: database)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_rest") == ["3000"])
        // The outcomes are within their larger partition.
        #expect(
            try await MaintenanceBench.prepare(in: database) == [
                "made inbox_from_1002000", "made inbox_from_1005000", "made inbox_from_1006000", "made outcomes_from_1016000",
            ]
        )
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_from_1002000") == ["3000"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["5000"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a large last partition is checked beside inserts before it becomes one, and the next events come behind it`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(150_000, result: "applied", age: "1 day", in: database)
        let prepare = { try await MaintenanceBench.step(.preparePartitions, in: database)?.did }
        #expect(try await prepare() == "ended inbox_rest")
        try await database.withConnection(user: "appstore_ingest") { ingest in
            try await ingest.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.receive(\([[UInt8]]([[1]])))")
                #expect(try await prepare() == "checked inbox_rest", "the event that is being stored does not stop it")
                await #expect(throws: PostgresError.self, "the exclusive lock waits for the event") { _ = try await prepare() }
            }
        }
        #expect(try await prepare() == "made inbox_from_1002000")
        try await MaintenanceBench.execute("SELECT appstore.receive(ARRAY['x']::bytea[])", in: database)
        #expect(
            try await database.lines(
                """
                SELECT c.relname || ' ' || count(*) FROM appstore.inbox AS i JOIN pg_class AS c ON c.oid = i.tableoid
                GROUP BY c.relname ORDER BY min(i.event_id)
                """
            ) == ["inbox_from_1000000 1000", "inbox_from_1001000 1000", "inbox_from_1002000 148001", "inbox_rest 1"]
        )
        let constraints: Statement = "SELECT count(*)::text FROM pg_constraint WHERE conname = 'inbox_rest_ends'"
        #expect(try await database.lines(constraints) == ["0"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `autovacuum freezes a partition that gets no new rows`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(1500, result: "applied", bodyBytes: 3000, in: database)
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        let tables = try await database.lines(
            """
            SELECT c.relname || ' ' || (t.reloptions @> '{autovacuum_freeze_min_age=0}') FROM pg_class AS c
            LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
            WHERE c.relispartition AND c.reloptions @> '{autovacuum_freeze_min_age=0,autovacuum_freeze_max_age=1000000}'
            ORDER BY 1
            """
        )
        #expect(tables == ["inbox_first true", "inbox_from_1000000 true", "outcomes_first true"])
    }

    @Test func `autovacuum visits each table that grows before a fifth of it has died`() async throws {
        let database = try await InboxDatabase.make()
        let small = [
            "api_keys", "call_kinds", "certificates", "console_logins", "console_sessions", "consumption_policies", "feed_consumers",
            "feed_generations", "feed_head", "feed_switch", "fence", "fx_rates", "history_counts", "history_cursors", "live_since",
            "maintenance_state", "products", "reconcile_counts", "reconcile_walks", "redeliveries", "repairs", "retention",
            "schema_definitions", "schema_history",
        ]
        let late = try await database.lines(
            """
            SELECT c.relname::text FROM pg_class AS c
            WHERE c.relnamespace = 'appstore'::regnamespace AND c.relkind = 'r'
              AND NOT EXISTS (SELECT FROM unnest(c.reloptions) AS o WHERE o ~ '^autovacuum_vacuum_scale_factor=0') ORDER BY 1
            """
        )
        #expect(late == small, "a new table has settings in sql/tables, or is one of those that stay small")
    }
}
