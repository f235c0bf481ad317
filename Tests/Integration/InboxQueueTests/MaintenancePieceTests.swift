import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Partitions that take more than one step, and steps that come after a worker's death.
struct MaintenancePieceTests {
    /// A partition of 60,000 aged events, the newest one of which has just been settled again.
    private func makeDatabase() async throws -> TestDatabase {
        let database = try await MaintenanceBench.partitioned(events: 60_000)
        try await MaintenanceBench.settled(60_001, result: "applied", age: "40 days", in: database)
        try await MaintenanceBench.execute(
            "UPDATE appstore.outcomes SET settled_at = now() WHERE event_id IN (1000001, 1059999)",
            in: database
        )
        for _ in 0..<2 { _ = try await MaintenanceBench.step(.dropPartition, in: database) }  // inbox_first, which is empty
        return database
    }

    @Test func `a large partition is checked in pieces, and the events to keep of each piece are kept`() async throws {
        let database = try await makeDatabase()
        let first = try await MaintenanceBench.step(.dropPartition, in: database)
        #expect(first?.did == "checked inbox_from_1000000")
        #expect(first?.rows == 1)
        #expect(
            try await database.lines("SELECT event_id || '|' || kept::text FROM appstore.maintenance_state") == ["1010000|{1059999}"]
        )
        #expect(
            try await MaintenanceBench.finish(.dropPartition, in: database).map(\.did) == [
                "detached inbox_from_1000000", "dropped inbox_from_1000000",
            ]
        )
        #expect(
            try await database.lines("SELECT string_agg(event_id::text, ',' ORDER BY event_id) FROM appstore.inbox")
                == ["1000001,1059999,1060000"]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a partition that was detached is dropped after the death of the worker, and outcomes of kept bodies stay`() async throws {
        let database = try await makeDatabase()
        try await MaintenanceBench.execute("UPDATE appstore.retention SET outcomes = '35 days'", in: database)
        _ = try await MaintenanceBench.step(.dropPartition, in: database)
        #expect(try await MaintenanceBench.step(.dropPartition, in: database)?.did == "detached inbox_from_1000000")
        // Its bodies are out of the inbox, but still on the disk.
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["3"])
        await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_worker") { connection in
                try await connection.withTransaction { transaction in
                    #expect(try await transaction.query("SELECT did FROM appstore.drop_aged_partition()").count == 1)
                    try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
        }
        try await MaintenanceBench.awaitEndOfWorkers(database)
        #expect(
            try await database.lines("SELECT to_regclass('appstore.aged_inbox_from_1000000')::text")
                == ["appstore.aged_inbox_from_1000000"]
        )
        // Outcomes whose bodies are kept stay, too.
        #expect(
            try await MaintenanceBench.finish(.dropPartition, in: database).map(\.did) == [
                "dropped inbox_from_1000000", "detached outcomes_first", "dropped outcomes_first",
            ]
        )
        #expect(try await database.lines("SELECT coalesce(to_regclass('appstore.aged_inbox_from_1000000')::text, 'gone')") == ["gone"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }
}
