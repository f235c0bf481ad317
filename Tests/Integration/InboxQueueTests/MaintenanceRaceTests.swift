import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Repairs, ageing and other sessions that want the same events at the same time.
@Suite(.timeLimit(.minutes(2)))
struct MaintenanceRaceTests {
    /// 1,500 settled events from 1,000,000 on, of which the first 1,000 fill a partition that has aged.
    private func makeAged() async throws -> TestDatabase {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(1500, result: "applied", age: "40 days", in: database)
        for _ in 0..<2 { _ = try await MaintenanceBench.step(.dropPartition, in: database) }  // inbox_first, which is empty
        return database
    }

    @Test func `a partition is not dropped while one of its events is being requeued, and keeps it afterwards`() async throws {
        let database = try await makeAged()
        try await database.withConnection(user: "appstore_operator") { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.requeue_event(1000007)")
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await MaintenanceBench.step(.dropPartition, in: database)
                }
                #expect(error?.sqlState == .lockNotAvailable)
            }
        }
        #expect(try await MaintenanceBench.step(.dropPartition, in: database)?.did == "detached inbox_from_1000000")
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox WHERE event_id < 1001000") == ["1000007"])
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["1000007"])
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
                            _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_event(1000007)")
                            return nil
                        } catch let error as PostgresError {
                            return error
                        }
                    }
                    try await MaintenanceBench.awaitWaiting(database)
                }
                return (try await group.next() ?? nil, ())
            }
            #expect(requeued?.sqlState?.rawValue == "P0002", "its body has been dropped")
        }
        #expect(try await database.lines("SELECT result FROM appstore.outcomes WHERE event_id = 1000007") == ["applied"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `ageing takes no body of an event that waits again, in the net either`() async throws {
        let database = try await makeAged()
        try await MaintenanceBench.execute("SELECT setval('appstore.inbox_event_id', 900000)", in: database)
        try await MaintenanceBench.settled(10, result: "applied", age: "40 days", in: database)
        for event in [900_003, 900_009] {
            #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_event(\(Int64(event)))") == 1)
        }
        #expect(try await MaintenanceBench.finish(.ageDefaultBodies, in: database).map(\.rows).reduce(0, +) == 8)
        #expect(
            try await database.lines("SELECT event_id::text FROM appstore.inbox WHERE event_id < 1000000 ORDER BY 1") == [
                "900003", "900009",
            ]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `an event that is being requeued is not aged, and one that is being aged is not requeued`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(10, result: "rejected", labels: false, age: "2 days", in: database)
        try await database.withConnection(user: "appstore_operator") { desk in
            try await desk.withTransaction { transaction in
                _ = try await transaction.query("SELECT appstore.requeue_event(5)")
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await MaintenanceBench.step(.ageRejectedBodies, in: database)
                }
                #expect(error?.sqlState == .lockNotAvailable)
            }
        }
        try await database.withConnection(user: "appstore_worker") { worker in
            try await withThrowingTaskGroup(of: RepairBench.Step.self) { group in
                try await RepairBench.begin("requeue", #"{"result": "rejected"}"#, in: database)
                try await worker.withTransaction { transaction in
                    let aged = try await transaction.query("SELECT deleted FROM appstore.expire('rejected_bodies')")
                    #expect(try aged[0].decode(0, as: Int64.self) == 9)
                    group.addTask { try await RepairBench.step(as: "appstore_operator", in: database) }
                    try await MaintenanceBench.awaitWaiting(database)
                }
                #expect(try await group.next()?.repaired == 0)
            }
        }
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["5"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["9"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `after many repairs a partition is checked anew later, and no lock is requested`() async throws {
        let database = try await makeAged()
        try await MaintenanceBench.execute(
            """
            INSERT INTO appstore.outcome_history
            SELECT now(), 'by_test', 20000000 + n, 'notification_v2', now(), now(), 1, 1, 'failed', 'by_test', NULL, NULL, NULL, NULL, NULL,
                   NULL, NULL, NULL
            FROM generate_series(1, 10000) AS n;
            """,
            in: database
        )
        // A session that reads the inbox would keep the step from its lock.
        try await database.holding("SELECT count(*) FROM appstore.inbox") {
            let step = try await MaintenanceBench.step(.dropPartition, in: database)
            #expect(step?.did == "postponed inbox_from_1000000")
        }
        #expect(try await MaintenanceBench.step(.dropPartition, in: database) == nil)
        try await MaintenanceBench.execute(
            """
            UPDATE appstore.outcome_history SET replaced_at = now() - interval '1 hour';
            UPDATE appstore.maintenance_state SET not_before = now();
            """,
            in: database
        )
        #expect(try await MaintenanceBench.step(.dropPartition, in: database)?.did == "detached inbox_from_1000000")
    }

    @Test func `ageing does not wait for the transaction that holds an event, and takes it the next time`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(10, result: "rejected", labels: false, age: "2 days", in: database)
        try await database.holding("SELECT FROM appstore.outcomes WHERE event_id = 5 FOR UPDATE") {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await MaintenanceBench.step(.ageRejectedBodies, as: "postgres", in: database)
            }
            #expect(error?.sqlState == .lockNotAvailable)
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["10"])
        #expect(try await MaintenanceBench.finish(.ageRejectedBodies, in: database).map(\.rows).reduce(0, +) == 10)
    }
}
