import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Testing

/// Which events a repair takes.
struct RepairSelectionTests {
    /// Events 1 and 2, of which every condition fits only the first.
    private func makePair() async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.execute(
            """
            SELECT appstore.receive(ARRAY['\\x01', '\\x02']::bytea[]);
            DELETE FROM appstore.inbox_queue;
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, notification_type,
                                           subtype, environment, bundle_id)
            VALUES (1, 'notification_v2', '2024-03-02', '2024-03-03', 1, 1, 'failed', 'one', 'REFUND', 'A', 'Production', 'com.example.one'),
                   (2, 'notification_v2', '2024-03-05', '2024-03-06', 1, 1, 'rejected', 'two', 'TEST', 'B', 'Sandbox', 'com.example.two');
            """,
            in: database
        )
        return database
    }

    @Test(arguments: [
        ("result", "failed"), ("reason", "one"), ("notification_type", "REFUND"), ("subtype", "A"), ("environment", "Production"),
        ("bundle_id", "com.example.one"), ("received_before", "2024-03-05"),
    ])
    func `each condition alone keeps what it does not fit`(condition: String, value: String) async throws {
        let database = try await makePair()
        let named = "\(condition) => '\(value)'"
        #expect(try await RepairBench.count("requeue(\(named), dry_run => true)", in: database) == 1)
        #expect(try await RepairBench.repair("requeue(\(named))", in: database) == 1)
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `what was received from an instant on is taken, and not what came before`() async throws {
        let database = try await makePair()
        #expect(try await RepairBench.repair("requeue(received_from => '2024-03-05')", in: database) == 1)
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["2"])
    }

    @Test(arguments: [
        #"{"result": "failed"}"#, #"{"reason": "one"}"#, #"{"notification_type": "REFUND"}"#, #"{"subtype": "A"}"#,
        #"{"environment": "Production"}"#, #"{"bundle_id": "com.example.one"}"#, #"{"received_before": "2024-03-05"}"#,
    ])
    func `each condition keeps a step and a count from what it does not fit`(filter: String) async throws {
        for (action, question) in [
            ("requeue", "SELECT string_agg(event_id::text, ',') FROM appstore.inbox_queue"),
            ("discard", "SELECT string_agg(event_id::text, ',') FROM appstore.outcomes WHERE result = 'discarded'"),
        ] {
            let database = try await makePair()
            let counted = try await database.withConnection(user: "appstore_operator") {
                try await $0.query(.countRepair(action: action, filter: JSONText(filter))).map {
                    try $0.decode("events", as: Int64.self)
                }
            }
            #expect(counted == [1])
            try await RepairBench.begin(action, filter, in: database)
            #expect(try await RepairBench.finish(in: database) == [1])
            #expect(try await database.lines("\(unsafeRaw: question)") == ["1"])
        }
    }

    @Test(arguments: ["result => 'rejected'", "reason => 'by_test'"])
    func `older events that have lost their bodies do not hide the younger ones`(condition: String) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1200, result: "rejected", labels: false, age: "2 days", in: database)
        try await MaintenanceBench.settled(5, result: "rejected", age: "1 hour", in: database)
        _ = try await MaintenanceBench.finish(.ageRejectedBodies, in: database)
        for limit in ["", ", max_events => 3", ", max_events => NULL"] {
            let counted = try await RepairBench.count("requeue(\(condition), dry_run => true\(limit))", in: database)
            #expect(counted == (limit.contains("3") ? 3 : 5))
        }
        #expect(try await RepairBench.repair("requeue(\(condition))", in: database) == 5)
        #expect(try await database.lines("SELECT min(event_id) || '-' || max(event_id) FROM appstore.inbox_queue") == ["1201-1205"])
        // A discard needs no body.
        #expect(try await RepairBench.repair("discard(\(condition), note => 'junk')", in: database) == 1200)
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a step passes events that have lost their body`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(2500, result: "rejected", labels: false, age: "2 days", in: database)
        _ = try await MaintenanceBench.finish(.ageRejectedBodies, in: database)
        try await MaintenanceBench.settled(1100, result: "rejected", age: "1 hour", in: database)
        try await RepairBench.begin("requeue", #"{"result": "rejected"}"#, in: database)
        #expect(try await RepairBench.finish(in: database) == [1000, 1100])
        #expect(try await database.lines("SELECT min(event_id)::text FROM appstore.inbox_queue") == ["2501"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a repair with a limit is begun without a count, and ends where no event meets the conditions`() async throws {
        let database = try await makePair()
        let begun = "requeue(reason => 'three', max_events => 7)"
        #expect(try await RepairBench.count(begun, in: database) == 7)
        #expect(try await RepairBench.finish(in: database) == [0])
        #expect(try await database.lines("SELECT concat_ws('|', state, repaired) FROM appstore.repair_status") == ["done|0"])
        #expect(try await RepairBench.count("requeue(reason => 'three')", in: database) == 0)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repair_status") == ["1"])
    }

    @Test(arguments: [("one", 2, false), ("one", 3, true), ("three", 2, false), ("three", 3, true)])
    func `a count ends after so many outcomes`(reason: String, most: Int, isComplete: Bool) async throws {
        let database = try await makePair()
        let count: Statement = """
            SELECT count(*) FROM appstore.count_repair(
                'requeue', jsonb_populate_record(NULL::appstore.repair_filter, jsonb_build_object('reason', \(reason))),
                max_checked => \(Int64(most)))
            """
        if isComplete {
            #expect(try await MaintenanceBench.asOperator(database, count) == (reason == "one" ? 1 : 0))
        } else {
            let error = await #expect(throws: PostgresError.self) { try await MaintenanceBench.asOperator(database, count) }
            #expect(error?.sqlState?.rawValue == "54000")
        }
    }
}
