import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What ages, what stays, and what is never taken.
struct MaintenanceRetentionTests {
    private func counts(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            """
            SELECT (SELECT count(*) FROM appstore.inbox) || ' bodies, ' || (SELECT count(*) FROM appstore.outcomes) || ' outcomes, '
                || (SELECT count(*) FROM appstore.inbox_queue) || ' waiting'
            """
        )
    }

    @Test func `partitions are made ahead of the events, which reach them`() async throws {
        let database = try await MaintenanceBench.partitioned()
        let ahead = try await database.lines(
            "SELECT parent || ' ' || count(*) FROM appstore.inbox_partitions WHERE from_id >= 1000000 AND to_id > 0 GROUP BY parent ORDER BY 1"
        )
        #expect(ahead == ["inbox 2", "outcomes 2"])
        try await MaintenanceBench.settled(1500, result: "applied", in: database)
        #expect(
            try await database.lines("SELECT tableoid::regclass || '|' || count(*) FROM appstore.inbox GROUP BY tableoid ORDER BY 1") == [
                "appstore.inbox_from_1000000|1000", "appstore.inbox_from_1001000|500",
            ]
        )
        #expect(
            try await MaintenanceBench.prepare(in: database) == [
                "made outcomes_from_1016000", "made inbox_from_1002000", "made inbox_from_1003000",
            ]
        )
    }

    @Test func `a partition that has aged is dropped, and what is unsettled or younger is kept`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(1500, result: "applied", age: "40 days", in: database)
        try await MaintenanceBench.execute(
            """
            WITH unsettled AS (DELETE FROM appstore.outcomes WHERE event_id IN (1000003, 1000777) RETURNING event_id)
            INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT event_id, now(), 1 FROM unsettled;
            UPDATE appstore.outcomes SET settled_at = now() - interval '1 day' WHERE event_id = 1000500;
            """,
            in: database
        )
        let steps = try await MaintenanceBench.finish(.dropPartition, in: database)
        #expect(
            steps.map(\.did) == [
                "detached inbox_first", "dropped inbox_first", "detached inbox_from_1000000", "dropped inbox_from_1000000",
            ]
        )
        #expect(
            try await database.lines(
                "SELECT string_agg(event_id::text, ',' ORDER BY event_id) FROM appstore.inbox WHERE event_id < 1001000"
            )
                == ["1000003,1000500,1000777"]
        )
        #expect(try await counts(database) == ["503 bodies, 1498 outcomes, 2 waiting"])
        #expect(try await database.eventsNotExactlyOnce() == [])
        // An event that outlived its partition can be claimed and requeued like any other.
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_event(1000500)") == 1)
        await #expect(throws: PostgresError.self) {
            _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_event(1000501)")
        }
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a partition with much to keep stays, and so does everything where bodies are kept for ever`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(900, result: "applied", age: "40 days", in: database)
        try await MaintenanceBench.settled(300, result: "applied", age: "3 days", in: database)
        try await MaintenanceBench.execute("UPDATE appstore.retention SET bodies = NULL", in: database)
        #expect(try await MaintenanceBench.finish(.dropPartition, in: database) == [])
        try await MaintenanceBench.execute("UPDATE appstore.retention SET bodies = '30 days'", in: database)
        try await MaintenanceBench.execute("UPDATE appstore.outcomes SET settled_at = now() WHERE event_id <= 1000200", in: database)
        #expect(
            try await MaintenanceBench.finish(.dropPartition, in: database).map(\.did) == [
                "detached inbox_first", "dropped inbox_first", "postponed inbox_from_1000000",
            ]
        )
        #expect(try await counts(database) == ["1200 bodies, 1200 outcomes, 0 waiting"])
    }

    @Test func `an event that is requeued while its partition is looked at is not taken`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(1500, result: "applied", age: "40 days", in: database)
        for _ in 0..<2 { _ = try await MaintenanceBench.step(.dropPartition, in: database) }  // inbox_first, which is empty
        // The look is over, the drop is not.
        try await MaintenanceBench.execute(
            """
            INSERT INTO appstore.maintenance_state (task, started_at, event_id) VALUES ('inbox_from_1000000', now(), 1000000);
            SELECT appstore.requeue_event(1000001), appstore.requeue_event(1000002);
            DELETE FROM appstore.inbox_queue WHERE event_id = 1000002;
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
            VALUES (1000002, 'notification_v2', now(), now(), 2, 1, 'applied');
            """,
            in: database
        )
        #expect(try await MaintenanceBench.step(.dropPartition, in: database)?.did == "detached inbox_from_1000000")
        #expect(
            try await database.lines("SELECT event_id::text FROM appstore.inbox WHERE event_id < 1001000 ORDER BY 1") == [
                "1000001", "1000002",
            ]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: [MaintenanceTask.dropPartition, .preparePartitions])
    func `maintenance does not keep other sessions waiting, and is tried again`(task: MaintenanceTask) async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(1500, result: "applied", age: "40 days", in: database)
        try await database.withConnection(user: "appstore_worker") { reader in
            try await reader.withTransaction { transaction in
                _ = try await transaction.query("SELECT count(*) FROM appstore.inbox")
                // Without a time-out of its own the step would wait for the end of this transaction: a superuser has none.
                let error = await #expect(throws: PostgresError.self) {
                    while try await MaintenanceBench.step(task, as: "postgres", in: database) != nil {}
                }
                #expect(error?.sqlState == .lockNotAvailable)
            }
        }
        #expect(try await counts(database) == ["1500 bodies, 1500 outcomes, 0 waiting"])
        #expect(try await MaintenanceBench.finish(task, in: database) != [])
    }

    @Test func `a shop with few events gets a new partition when the time of the old one is over`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(10, result: "applied", age: "5 days", in: database)
        #expect(
            try await MaintenanceBench.prepare(in: database) == [
                "made outcomes_from_1016000", "made inbox_from_1002000", "closed inbox_from_1000000", "made inbox_from_1003000",
            ]
        )
        try await MaintenanceBench.settled(1, result: "applied", age: "0 days", in: database)
        #expect(try await database.lines("SELECT max(event_id)::text FROM appstore.inbox") == ["1001000"])
        #expect(try await MaintenanceBench.finish(.preparePartitions, in: database) == [])
    }

    @Test func `junk loses its body after a day and its outcome after a month; what was verified does not`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(700, result: "rejected", labels: false, age: "2 days", in: database)
        try await MaintenanceBench.settled(20, result: "rejected", labels: true, age: "2 days", in: database)
        try await MaintenanceBench.settled(30, result: "rejected", labels: false, age: "1 hour", in: database)
        try await MaintenanceBench.settled(40, result: "failed", labels: false, age: "2 days", in: database)
        #expect(try await MaintenanceBench.finish(.ageRejectedBodies, in: database).map(\.rows).reduce(0, +) == 700)
        #expect(try await MaintenanceBench.finish(.ageRejectedBodies, in: database).map(\.rows).reduce(0, +) == 0)
        #expect(try await counts(database) == ["90 bodies, 790 outcomes, 0 waiting"])
        #expect(try await MaintenanceBench.finish(.ageRejectedOutcomes, in: database) == [])
        try await MaintenanceBench.execute("UPDATE appstore.retention SET rejected_outcomes = '25 hours'", in: database)
        #expect(try await MaintenanceBench.finish(.ageRejectedOutcomes, in: database).map(\.rows).reduce(0, +) == 700)
        #expect(try await counts(database) == ["90 bodies, 90 outcomes, 0 waiting"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `junk that is requeued is not taken, and a requeue does not take what has lost its body`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(10, result: "rejected", labels: false, age: "2 days", in: database)
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_event(1000001)") == 1)
        #expect(try await MaintenanceBench.finish(.ageRejectedBodies, in: database).map(\.rows) == [9])
        #expect(try await RepairBench.repair("requeue(result => 'rejected')", in: database) == 0)
        #expect(try await counts(database) == ["1 bodies, 9 outcomes, 1 waiting"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `outcomes age after their bodies, with their history, and only when they are told to`() async throws {
        let database = try await MaintenanceBench.partitioned()
        try await MaintenanceBench.settled(1500, result: "applied", age: "400 days", in: database)
        // Two have run twice, one of them in the partition that stays.
        try await MaintenanceBench.execute(
            """
            SELECT appstore.requeue_event(1000001), appstore.requeue_event(1001001);
            DELETE FROM appstore.inbox_queue;
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result)
            SELECT event_id, source, received_at, received_at, 2, 1, 'applied' FROM appstore.inbox WHERE event_id IN (1000001, 1001001);
            UPDATE appstore.outcome_history SET replaced_at = received_at;
            """,
            in: database
        )
        let history: Statement = "SELECT event_id::text FROM appstore.outcome_history ORDER BY 1"
        _ = try await MaintenanceBench.finish(.dropPartition, in: database)
        #expect(try await database.lines(history) == ["1000001", "1001001"])
        #expect(try await counts(database) == ["500 bodies, 1500 outcomes, 0 waiting"])
        try await MaintenanceBench.execute("UPDATE appstore.retention SET outcomes = '365 days'", in: database)
        // One partition has the outcomes of eight of the inbox: it stays with the last of these.
        let steps = { try await MaintenanceBench.finish(.dropPartition, in: database).map(\.did) }
        #expect(try await steps() == ["detached outcomes_first", "dropped outcomes_first"])
        try await MaintenanceBench.execute("SELECT setval('appstore.inbox_event_id', 1008000)", in: database)
        #expect(
            try await steps() == [
                "detached inbox_from_1001000", "dropped inbox_from_1001000", "detached outcomes_from_1000000",
                "expired outcomes_from_1000000", "dropped outcomes_from_1000000",
            ]
        )
        #expect(try await counts(database) == ["0 bodies, 0 outcomes, 0 waiting"])
        #expect(try await database.lines(history) == [])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: ["outcomes = '1 day'", "bodies = '1 hour'", "rejected_bodies = '0'", "rejected_bodies = '40 days'", "is_only = false"])
    func `ages that contradict each other are refused`(change: String) async throws {
        let database = try await MaintenanceBench.partitioned()
        await #expect(throws: PostgresError.self) {
            try await MaintenanceBench.execute("UPDATE appstore.retention SET \(change)", in: database)
        }
        try await database.withConnection(user: "appstore_operator") { connection in
            let changed = try await connection.execute("UPDATE appstore.retention SET bodies = '90 days'")
            #expect(changed == 1)
        }
    }
}
