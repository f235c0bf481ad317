import Inbox
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Repairs, ageing and whoever else wants the same events at the same time.
@Suite(.timeLimit(.minutes(2)))
struct MaintenanceRaceTests {
    /// 1,500 settled events from 10,000,000 on, of which the first 1,000 fill a partition that has aged.
    private func makeAged() async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute(
            """
            UPDATE appstore.retention SET bodies = '30 days', partition_events = 1000;
            SELECT setval('appstore.inbox_event_id', 9999999);
            """,
            in: database
        )
        _ = try await MaintenanceBench.finish(.preparePartitions, in: database)
        try await MaintenanceBench.settled(1500, result: "applied", age: "40 days", in: database)
        for _ in 0..<2 { _ = try await MaintenanceBench.step(.dropPartition, in: database) }  // inbox_first, which is empty
        return database
    }

    /// Waits until somebody waits for a lock of this database.
    private func awaitWaiting(_ database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        let question: Statement =
            "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try await database.lines(question) == ["0"] {
            try #require(ContinuousClock.now < deadline, "nobody waits")
        }
    }

    @Test func `a partition is not dropped while one of its events is being requeued, and keeps it afterwards`() async throws {
        let database = try await makeAged()
        try await database.withConnection(user: "appstore_operator") { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.requeue(10000007)")
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await MaintenanceBench.step(.dropPartition, in: database)
                }
                #expect(error?.sqlState == .lockNotAvailable)
            }
        }
        #expect(try await MaintenanceBench.step(.dropPartition, in: database)?.did == "detached inbox_from_10000000")
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox WHERE event_id < 10001000") == ["10000007"])
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_ready") == ["10000007"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `an event whose partition is being dropped is not requeued, and keeps its outcome`() async throws {
        let database = try await makeAged()
        try await database.withConnection(user: "appstore_worker") { worker in
            let (requeued, _) = try await withThrowingTaskGroup(of: PostgresError?.self) { group in
                try await worker.withTransaction { transaction in
                    #expect(try await transaction.query("SELECT did FROM appstore.drop_aged_partition()").count == 1)
                    group.addTask {
                        do {
                            _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue(10000007)")
                            return nil
                        } catch let error as PostgresError {
                            return error
                        }
                    }
                    try await awaitWaiting(database)
                }
                return (try await group.next() ?? nil, ())
            }
            #expect(requeued?.sqlState?.rawValue == "P0002", "its body has been dropped")
        }
        #expect(try await database.lines("SELECT result FROM appstore.outcomes WHERE event_id = 10000007") == ["applied"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `ageing takes no body of an event that waits again, in the net either`() async throws {
        let database = try await makeAged()
        try await MaintenanceBench.execute("SELECT setval('appstore.inbox_event_id', 90000000)", in: database)
        try await MaintenanceBench.settled(10, result: "applied", age: "40 days", in: database)
        for event in [90_000_003, 90_000_009] {
            #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue(\(Int64(event)))") == 1)
        }
        #expect(try await MaintenanceBench.finish(.ageDefaultBodies, in: database).map(\.rows).reduce(0, +) == 8)
        #expect(
            try await database.lines("SELECT event_id::text FROM appstore.inbox WHERE event_id > 90000000 ORDER BY 1") == [
                "90000003", "90000009",
            ]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `ageing does not wait for whoever holds an event, and takes it the next time`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(10, result: "rejected", labels: false, age: "2 days", in: database)
        try await holding("SELECT FROM appstore.outcomes WHERE event_id = 5 FOR UPDATE", in: database) {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await MaintenanceBench.step(.ageRejectedBodies, as: "postgres", in: database)
            }
            #expect(error?.sqlState == .lockNotAvailable)
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["10"])
        #expect(try await MaintenanceBench.finish(.ageRejectedBodies, in: database).map(\.rows).reduce(0, +) == 10)
    }

    @Test func `a repair waits for whoever holds an event, which is no failure of it`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        let progress: Statement = "SELECT concat_ws('|', state, events_repaired, failures, error) FROM appstore.repairs"
        try await holding("SELECT FROM appstore.outcomes WHERE event_id = 500 FOR UPDATE", in: database) {
            for _ in 0..<2 {
                #expect(try await MaintenanceBench.step(.repair, as: "postgres", in: database)?.rows == 0)
                try await MaintenanceBench.hurry(database)
            }
            #expect(try await database.lines(progress) == ["requested|0|0|canceling statement due to lock timeout"])
        }
        #expect(try await MaintenanceBench.finish(.repair, in: database).map(\.rows) == [1000, 500])
        #expect(try await database.lines(progress) == ["done|1500|0"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    /// Lends the time in which another transaction holds what the statement locks.
    private func holding(_ statement: Statement, in database: TestDatabase, _ body: () async throws -> Void) async throws {
        try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query(statement)
                try await body()
            }
        }
    }
}
