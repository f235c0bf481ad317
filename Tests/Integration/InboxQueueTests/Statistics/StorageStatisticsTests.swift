import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Testing

/// The numbers about disk, partitions, vacuum and locks that metrics and `doctor` show.
struct StorageStatisticsTests {
    private func read<T: PostgresDecodable & Sendable>(_ column: String, _ database: TestDatabase, user: String = "appstore_worker")
        async throws -> T
    {
        try await database.withConnection(user: user) { connection in
            try await connection.query(.storageStatistics())[0].decode(column)
        }
    }

    @Test(arguments: ["appstore_worker", "appstore_operator", "appstore_viewer"])
    func `the parts are within the database, and nothing has overflown`(role: String) async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: role) { connection in
            let row = try await connection.query(.storageStatistics())[0]
            let parts = try ["inbox_bytes", "outcome_bytes", "ledger_bytes"].map { try row.decode($0, as: Int64.self) }
            #expect(parts.allSatisfy { $0 > 0 })
            #expect(try row.decode("database_bytes", as: Int64.self) > parts.reduce(0, +))
            #expect(try row.decode("rest_bytes", as: Int64.self) == 0)
            #expect(try row.decode("parents", as: [String].self) == ["feed", "inbox", "outcomes"])
            let partitions = try await connection.query(
                "SELECT count(*) FROM pg_inherits AS h WHERE h.inhparent IN ('appstore.inbox'::regclass, 'appstore.outcomes'::regclass)"
            )[0]
            #expect(try row.decode("partitions", as: [Int64].self).reduce(0, +) == partitions.decode(0))
            #expect(try row.decode("locks_held", as: Int64.self) < row.decode("lock_slots", as: Int64.self))
            #expect(try row.decode("table_age", as: Int64.self) <= row.decode("database_age", as: Int64.self))
            #expect(try row.decode("checkpoints_timed", as: Int64.self) >= 0 && row.decode("checkpoints_requested", as: Int64.self) >= 0)
        }
    }

    @Test(arguments: ["appstore_ingest", "appstore_backend", "appstore_api"])
    func `a role that may not read the inbox may not read them`(role: String) async throws {
        let database = try await InboxDatabase.make()
        let error = try await #require(throws: PostgresError.self) {
            let _: Int64 = try await read("database_bytes", database, user: role)
        }
        #expect(error.sqlState == .insufficientPrivilege)
    }

    @Test func `events for which no worker has made a partition are counted while they are there`() async throws {
        let database = try await InboxDatabase.make()
        let before: Int64 = try await read("inbox_bytes", database)
        _ = try await database.withConnection { connection in
            try await connection.execute(
                """
                INSERT INTO appstore.inbox (event_id, source, received_at, body)
                VALUES (90000000000, 'notification_v2', now(), decode(repeat('00', 1000000), 'hex'))
                """
            )
        }
        let filled: Int64 = try await read("rest_bytes", database)
        #expect(filled > 1_000_000)
        #expect(try await read("inbox_bytes", database) >= before + 1_000_000)
        _ = try await database.withConnection { try await $0.execute("DELETE FROM appstore.inbox") }
        #expect(try await read("rest_bytes", database) == Int64(0))
    }

    @Test func `dead rows are those that vacuum has not removed`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.execute("ALTER TABLE appstore.inbox_queue SET (autovacuum_enabled = off)")
            try await connection.execute(
                "INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT n, now(), 1 FROM generate_series(1, 300) AS n"
            )
            try await connection.execute("DELETE FROM appstore.inbox_queue WHERE event_id <= 200")
        }
        try await database.awaitReports()
        let tables: [String] = try await read("tables", database)
        let queue = try #require(tables.firstIndex(of: "inbox_queue"))
        let (live, dead): ([Int64], [Int64]) = (try await read("live_rows", database), try await read("dead_rows", database))
        #expect((live[queue], dead[queue]) == (100, 200))
        _ = try await database.withConnection { try await $0.execute("VACUUM appstore.inbox_queue") }
        try await database.awaitReports()
        let later: [Int64] = try await read("dead_rows", database)
        #expect(later[queue] == 0)
    }

    @Test func `a slot is counted with the log that it keeps, one that keeps none is not`() async throws {
        let database = try await InboxDatabase.make()
        let name = "kept_\(UUID().uuidString.prefix(8).lowercased())"
        try await database.withConnection { connection in
            _ = try await connection.query("SELECT pg_create_physical_replication_slot('\(unsafeRaw: name)', true)")
            _ = try await connection.query("SELECT pg_create_physical_replication_slot('\(unsafeRaw: name)_not', false)")
            _ = try await connection.query("SELECT pg_logical_emit_message(false, 'test', repeat('x', 100000))")
        }
        let slots: [String] = try await read("slots", database)
        let bytes: [Int64] = try await read("slot_bytes", database)
        try await database.withConnection { connection in
            for slot in [name, name + "_not"] { _ = try await connection.query("SELECT pg_drop_replication_slot('\(unsafeRaw: slot)')") }
        }
        #expect(!slots.contains(name + "_not"))
        #expect(bytes[try #require(slots.firstIndex(of: name))] > 100_000)
    }
}
