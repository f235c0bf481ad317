import InboxTesting
import Postgres
import PostgresTesting
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
        let count = "result => 'failed', max_events => NULL, dry_run => true"
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_events(\(unsafeRaw: count))") == 2500)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])

        let first = try await RepairBench.step(in: database)
        #expect((first.events, first.isDone) == (1000, false))
        // An event that fails after the beginning is not repaired.
        try await MaintenanceBench.settled(5, result: "failed", age: "-1 second", in: database)
        #expect(try await RepairBench.finish(after: first.progress, in: database) == [2000, 2500])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["2500"])
        #expect(
            try await database.lines(
                "SELECT concat_ws('|', actor, action, cardinality(event_ids), note, details) FROM appstore.audit_log ORDER BY audit_id"
            ) == [1000, 1000, 500].map { #"appstore_operator|requeue|\#($0)|by test|{"result": "failed"}"# }
        )
        #expect(try await database.lines("SELECT DISTINCT replaced_by FROM appstore.outcome_history") == ["appstore_operator"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `up to a thousand events are requeued in one transaction, and a call without a limit is refused`() async throws {
        let database = try await makeDatabase(failed: 1000)
        let error = await #expect(throws: PostgresError.self) {
            try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_events(result => 'failed', max_events => NULL)")
        }
        #expect(error?.sqlState?.rawValue == "22023")
        await #expect(throws: PostgresError.self) {
            try await MaintenanceBench.asOperator(database, "SELECT appstore.discard_events('x', result => 'failed', max_events => NULL)")
        }
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue_events(result => 'failed')") == 1000)
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `an event that fails again after its requeue is not requeued by the same repair`() async throws {
        let database = try await makeDatabase(failed: 1500)
        let first = try await RepairBench.step(in: database)
        try await RepairBench.settle("failed", in: database)
        #expect(try await RepairBench.finish(after: first.progress, in: database) == [1500])
        #expect(try await history(database) == ["1500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a session that dies within a step loses nothing and repeats nothing`() async throws {
        let database = try await makeDatabase(failed: 2500)
        var progress: String?
        for round in 0..<2 {
            // The session dies before its commit.
            await #expect(throws: PostgresError.self) {
                try await database.withConnection(user: "appstore_operator") { connection in
                    try await connection.withTransaction { transaction in
                        _ = try await transaction.query(RepairBench.statement("requeue", #"{"result": "failed"}"#, after: progress))
                        try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                    }
                }
            }
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcome_history") == ["\(round * 1000)"])
            #expect(try await database.eventsNotExactlyOnce() == [])
            let step = try await RepairBench.step(after: progress, in: database)
            #expect(step.events == Int64(round + 1) * 1000)
            progress = step.progress
            try await RepairBench.delay(database)
        }
        #expect(try await RepairBench.finish(after: progress, in: database) == [2500])
        #expect(try await history(database) == ["2500|1"])
    }

    @Test func `a step whose answer was lost is repeated without repairing its events again`() async throws {
        let database = try await makeDatabase(failed: 2500)
        let first = try await RepairBench.step(in: database)
        try await RepairBench.settle("failed", in: database)
        _ = try await RepairBench.step(after: first.progress, in: database)
        try await RepairBench.settle("failed", in: database)
        // The second step was committed, but its progress did not arrive: its events are not counted, and not repaired again.
        #expect(try await RepairBench.finish(after: first.progress, in: database) == [1500])
        #expect(try await history(database) == ["2500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a repair that was interrupted is run again and repairs the rest`() async throws {
        let database = try await makeDatabase(failed: 2500)
        _ = try await RepairBench.step(in: database)
        try await RepairBench.settle("applied", in: database)
        #expect(try await RepairBench.finish(in: database) == [1000, 1500])
        #expect(try await history(database) == ["2500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `outcomes that go while a step checks them do not have it pass others`() async throws {
        let database = try await InboxDatabase.make()
        // A step checks 20,000 outcomes; those that meet the condition lie beyond.
        try await MaintenanceBench.settled(20_000, result: "applied", in: database)
        try await MaintenanceBench.settled(600, result: "failed", in: database)
        // As if another session had deleted or requeued outcomes meanwhile.
        try await MaintenanceBench.execute(
            """
            CREATE OR REPLACE FUNCTION appstore.matches_filter(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean
            LANGUAGE plpgsql VOLATILE AS $$
            BEGIN
                IF o.event_id = 10000 THEN
                    DELETE FROM appstore.outcomes AS gone WHERE gone.event_id <= 600;
                END IF;
                RETURN o.result = f.result;
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
        let second = try await database.withConnection(user: "appstore_operator") { first in
            try await withThrowingTaskGroup(of: RepairBench.Step.self) { group in
                try await first.withTransaction { transaction in
                    _ = try await transaction.query(RepairBench.statement("requeue", #"{"result": "failed"}"#))
                    group.addTask { try await RepairBench.step(in: database) }
                    try await MaintenanceBench.awaitWaiting(database)
                }
                return try await group.next()
            }
        }
        #expect(second?.events == 0, "the other repair has them")
        #expect(try await RepairBench.finish(after: second?.progress, in: database) == [500])
        #expect(try await history(database) == ["1500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `events are discarded in steps, but never those that were applied`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1200, result: "rejected", in: database)
        try await MaintenanceBench.settled(3, result: "applied", in: database)
        let count = "notification_type => 'TEST', max_events => NULL, dry_run => true"
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.discard_events('junk', \(unsafeRaw: count))") == 1200)
        #expect(try await RepairBench.finish("discard", #"{"notification_type": "TEST"}"#, in: database) == [1000, 1200])
        #expect(
            try await database.lines(
                "SELECT result || '|' || reason || '|' || run || '|' || count(*) FROM appstore.outcomes GROUP BY result, reason, run ORDER BY 1"
            )
                == ["applied|by_test|1|3", "discarded|by test|2|1200"]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: [
        "SELECT appstore.repair_step('requeue', NULL, NULL)",
        "SELECT appstore.repair_step('requeue', \(conditions(#"{"outcom": "failed"}"#)), NULL)",
        "SELECT appstore.repair_step('repair', \(conditions(#"{"result": "failed"}"#)), NULL)",
        "SELECT appstore.repair_step('discard', \(conditions(#"{"result": "failed"}"#)), ' ')",
        "SELECT appstore.repair_step('requeue', \(conditions(#"{"environment": "Sandbx"}"#)), NULL)",
        "CALL appstore.requeue_all()", "CALL appstore.requeue_all(result => 'lost')",
        "CALL appstore.requeue_all(environment => 'production')",
        "CALL appstore.discard_all(' ', result => 'failed')",
        "SELECT appstore.discard_events(' ', result => 'failed')", "SELECT appstore.requeue_events(result => 'failed', max_events => 0)",
        "SELECT appstore.requeue_events(environment => 'Sandbx')", "SELECT appstore.discard_events('x', environment => 'sandbox')",
    ])
    func `a repair that makes no sense is refused, such as one of a misspelt environment`(statement: String) async throws {
        let database = try await makeDatabase(failed: 1)
        let error = await #expect(throws: PostgresError.self) {
            try await MaintenanceBench.asOperator(database, "\(unsafeRaw: statement)")
        }
        #expect(error?.sqlState?.conditionClass == "22", "\(String(describing: error))")
        #expect(try await database.lines("SELECT result FROM appstore.outcomes") == ["failed"])
    }
}

private func conditions(_ json: String) -> String {
    "jsonb_populate_record(NULL::appstore.repair_filter, '\(json)')"
}
