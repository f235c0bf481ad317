import InboxTesting
import Postgres
import SQL
import Testing

/// That the number of partitions does not count for what the queue reads: a database of some years has dozens of them.
struct PartitionPruningTests {
    private static let partitions = 20

    private func withPartitions(_ body: (Connection) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                DROP TABLE appstore.inbox_rest;
                DO $$ BEGIN
                    FOR i IN 1..\(Self.partitions) LOOP
                        EXECUTE format('CREATE TABLE appstore.inbox_old_%s PARTITION OF appstore.inbox FOR VALUES FROM (%s) TO (%s)',
                                       i, 20000000 + i * 1000000, 21000000 + i * 1000000);
                    END LOOP;
                END $$;
                INSERT INTO appstore.inbox (event_id, source, received_at, body)
                SELECT 30000000 + n, 'notification_v2', now(), '\\x01' FROM generate_series(1, 100) AS n;
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT event_id, received_at, 1 FROM appstore.inbox;
                """
            )
        }
        try await database.withConnection(user: "appstore_worker", body)
    }

    /// The plan that a worker would keep for ever.
    private func plan(of name: String, _ values: [String: String], on connection: Connection) async throws -> String {
        let text = try #require(Statement.texts.first { $0.name == name })
        try await connection.execute("PREPARE planned AS \(unsafeRaw: text.sql)")
        let arguments = text.binds.map { values[$0.key] ?? "NULL" }.joined(separator: ", ")
        let lines = try await connection.query("EXPLAIN (COSTS OFF) EXECUTE planned (\(unsafeRaw: arguments))")
        try await connection.execute("DEALLOCATE planned")
        return try lines.map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
    }

    @Test(arguments: ["read_bodies", "claim_event"])
    func `only the partition that has the events is opened`(statement: String) async throws {
        try await withPartitions { connection in
            let values = [
                "event_ids": "'{30000001,30000007}'", "first_event_id": "30000001", "last_event_id": "30000007", "event_id": "30000001",
                "contract": "\(SchemaContract.current)", "lane": "1",
            ]
            let plan = try await plan(of: statement, values, on: connection)
            // All but one of those made here, of the first and of the default partition.
            #expect(plan.contains("Subplans Removed: \(Self.partitions + 1)"), "\(plan)")
        }
    }

    @Test func `a claim opens no partition`() async throws {
        try await withPartitions { connection in
            let values = [
                "from_run_at": "'-infinity'", "from_event_id": "0", "contract": "\(SchemaContract.current)", "limit": "200", "lane": "1",
                "bytes": "8000000",
            ]
            let plan = try await plan(of: "claim", values, on: connection)
            #expect(!plan.contains("Append"), "\(plan)")
            #expect(plan.contains("inbox_queue_by_run_at"), "\(plan)")
        }
    }
}
