import InboxTesting
import Postgres
import PostgresTesting
import SQL
import Testing

/// Repairs of more events than one transaction should touch.
@Suite(.timeLimit(.minutes(2)))
struct SteppedRepairTests {
    private func makeDatabase(failed count: Int) async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(count, result: "failed", in: database)
        return database
    }

    private func history(_ database: TestDatabase) async throws -> [String] {
        try await database.lines("SELECT count(*) || '|' || max(run) FROM appstore.outcome_history")
    }

    @Test func `more than a thousand events are requeued in steps, each once, and the audit log names all of them`() async throws {
        let database = try await makeDatabase(failed: 2500)
        try await MaintenanceBench.settled(10, result: "applied", in: database)
        #expect(try await RepairBench.count("requeue(result => 'failed', dry_run => true)", in: database) == 2500)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repair_status") == ["0"])

        #expect(try await RepairBench.begin(in: database) == 1)
        let first = try await RepairBench.step(in: database)
        #expect((first.repaired, first.state) == (1000, "running"))
        // An event that fails after the beginning is not repaired.
        try await MaintenanceBench.settled(5, result: "failed", age: "-1 second", in: database)
        #expect(try await RepairBench.finish(in: database) == [2000, 2500])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["2500"])
        #expect(
            try await database.lines(
                "SELECT concat_ws('|', actor, action, cardinality(event_ids), note, details) FROM appstore.audit_log ORDER BY audit_id"
            ) == [1000, 1000, 500].map { #"appstore_operator|requeue|\#($0)|by test|{"result": "failed"}"# }
        )
        #expect(try await database.lines("SELECT DISTINCT replaced_by FROM appstore.outcome_history") == ["appstore_operator"])
        #expect(
            try await database.lines("SELECT concat_ws('|', state, repaired, expected, conditions) FROM appstore.repair_status")
                == [#"done|2500|2500|{"result": "failed"}"#]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a repair ends at its limit, without which more than ten thousand events are refused`() async throws {
        let database = try await makeDatabase(failed: 10_001)
        let error = await #expect(throws: PostgresError.self) {
            try await RepairBench.repair("requeue(result => 'failed')", in: database)
        }
        #expect(error?.sqlState?.rawValue == "22023" && error?.hint?.contains("max_events") == true)
        #expect(try await RepairBench.repair("requeue(result => 'failed', max_events => 1500)", in: database) == 1500)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1500"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `an event that fails again after its requeue is not requeued by the same repair`() async throws {
        let database = try await makeDatabase(failed: 1500)
        try await RepairBench.begin(in: database)
        _ = try await RepairBench.step(in: database)
        try await RepairBench.settle("failed", in: database)
        #expect(try await RepairBench.finish(in: database) == [1500])
        #expect(try await history(database) == ["1500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a session that dies within a step loses nothing and repeats nothing`() async throws {
        let database = try await makeDatabase(failed: 2500)
        try await RepairBench.begin(in: database)
        for round in 0..<2 {
            try await RepairBench.makeDue(database)
            // The session dies before its commit.
            await #expect(throws: PostgresError.self) {
                try await database.withConnection(user: "appstore_worker") { connection in
                    try await connection.withTransaction { transaction in
                        _ = try await transaction.query(.takeRepairStep())
                        try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                    }
                }
            }
            try await eventually("the session has ended, and its locks with it") {
                try await database.lines(
                    "SELECT pid::text FROM pg_stat_activity WHERE usename = 'appstore_worker' AND datname = current_database()"
                ) == []
            }
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcome_history") == ["\(round * 1000)"])
            #expect(try await database.eventsNotExactlyOnce() == [])
            #expect(try await RepairBench.step(in: database).repaired == Int64(round + 1) * 1000)
            try await RepairBench.delay(database)
        }
        #expect(try await RepairBench.finish(in: database) == [2500])
        #expect(try await history(database) == ["2500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a repair that was stopped keeps what it repaired, and another repairs the rest`() async throws {
        let database = try await makeDatabase(failed: 2500)
        try await RepairBench.begin(in: database)
        _ = try await RepairBench.step(in: database)
        #expect(try await database.lines("SELECT appstore.stop_repair(1)::text") == ["true"])
        let stopped = try await RepairBench.step(in: database)
        #expect((stopped.state, stopped.repaired, stopped.pause) == ("stopped", 1000, nil))
        try await RepairBench.settle("applied", in: database)
        try await RepairBench.begin(in: database)
        #expect(try await RepairBench.finish(in: database) == [1000, 1500])
        #expect(try await history(database) == ["2500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `outcomes that go while a step checks them do not have it pass others`() async throws {
        let database = try await InboxDatabase.make()
        // A step checks 20,000 outcomes; those that meet the condition lie beyond.
        try await MaintenanceBench.settled(20_000, result: "applied", in: database)
        try await MaintenanceBench.settled(600, result: "failed", age: "1 day", in: database)
        let begin = "requeue(reason => 'by_test', notification_type => 'TEST', note => 'by test', max_events => 20600)"
        _ = try await MaintenanceBench.asOperator(database, "SELECT repair_id FROM appstore.\(unsafeRaw: begin)")
        // As if another session had deleted or requeued outcomes meanwhile.
        try await MaintenanceBench.execute(
            """
            CREATE OR REPLACE FUNCTION appstore.matches_filter(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
            LANGUAGE plpgsql VOLATILE AS $$
            BEGIN
                IF o.event_id = 10000 THEN
                    DELETE FROM appstore.outcomes AS gone WHERE gone.event_id <= 600;
                END IF;
                RETURN o.result = 'failed';
            END
            $$
            """,
            in: database
        )
        #expect(try await RepairBench.finish(in: database) == [0, 600])
        #expect(try await history(database) == ["600|1"])
    }

    @Test func `two repairs of the same events at once repair each event once`() async throws {
        let database = try await makeDatabase(failed: 1500)
        try await RepairBench.begin(in: database)
        try await RepairBench.begin("requeue", #"{"reason": "by_test"}"#, in: database)
        let second = try await database.withConnection(user: "appstore_operator") { first in
            try await withThrowingTaskGroup(of: RepairBench.Step.self) { group in
                try await RepairBench.makeDue(database)
                try await first.withTransaction { transaction in
                    _ = try await transaction.query(.takeRepairStep())
                    group.addTask { try await RepairBench.step(as: "appstore_operator", in: database) }
                    try await MaintenanceBench.awaitWaiting(database)
                }
                return try await group.next()
            }
        }
        #expect(second?.repaired == 0, "the other repair has them")
        _ = try await RepairBench.finish(in: database)
        let repaired = try await database.lines("SELECT sum(repaired)::text FROM appstore.repair_status WHERE state = 'done'")
        #expect(repaired == ["1500"])
        #expect(try await history(database) == ["1500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `what is asked for twice is refused while it runs`() async throws {
        let database = try await makeDatabase(failed: 5)
        try await RepairBench.begin(in: database)
        let error = await #expect(throws: PostgresError.self) { try await RepairBench.begin(in: database) }
        #expect(error?.message == "repair 1 does the same and is running")
        #expect(try await RepairBench.finish(in: database) == [5])
    }

    @Test func `events are discarded in steps, but never those that were applied`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1200, result: "rejected", in: database)
        try await MaintenanceBench.settled(3, result: "applied", in: database)
        #expect(
            try await RepairBench.count("discard(notification_type => 'TEST', note => 'x', dry_run => true)", in: database) == 1200
        )
        try await RepairBench.begin("discard", #"{"notification_type": "TEST"}"#, in: database)
        #expect(try await RepairBench.finish(in: database) == [1000, 1200])
        #expect(
            try await database.lines(
                "SELECT result || '|' || reason || '|' || run || '|' || count(*) FROM appstore.outcomes GROUP BY result, reason, run ORDER BY 1"
            )
                == ["applied|by_test|1|3", "discarded|by test|2|1200"]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a reason that no event has begins no repair`() async throws {
        let database = try await makeDatabase(failed: 3)
        let row = try await database.withConnection(user: "appstore_operator") { desk in
            try await desk.query("SELECT repair_id, events FROM appstore.requeue(result => 'failed', reason => 'by_tset')")[0]
        }
        #expect((try row.decode("repair_id", as: Int64?.self), try row.decode("events", as: Int64.self)) == (nil, 0))
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repair_status") == ["0"])
    }

    @Test(arguments: [
        "begin_repair('requeue', NULL, NULL)", "begin_repair('requeue', \(conditions(#"{"outcom": "failed"}"#)), NULL)",
        "begin_repair('repair', \(conditions(#"{"result": "failed"}"#)), NULL)",
        "begin_repair('discard', \(conditions(#"{"result": "failed"}"#)), ' ')",
        "begin_repair('requeue', \(conditions(#"{"environment": "Sandbx"}"#)), NULL)", "requeue()", "requeue(result => 'lost')",
        "requeue(environment => 'production')", "requeue(result => 'failed', max_events => 0)", "discard(result => 'failed')",
        "discard(result => 'failed', note => ' ')", "discard(environment => 'sandbox', note => 'x')",
    ])
    func `a repair that makes no sense is refused, such as one of a misspelt environment`(call: String) async throws {
        let database = try await makeDatabase(failed: 1)
        let error = await #expect(throws: PostgresError.self) {
            try await MaintenanceBench.asOperator(database, "SELECT appstore.\(unsafeRaw: call)::text::bigint")
        }
        #expect(error?.sqlState?.conditionClass == "22", "\(String(describing: error))")
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repair_status") == ["0"])
    }
}

private func conditions(_ json: String) -> String {
    "jsonb_populate_record(NULL::appstore.repair_filter, '\(json)')"
}
