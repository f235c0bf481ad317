import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What an operator does by SQL.
struct RepairTests {
    /// Three events: 1 applied, 2 rejected, 3 waiting.
    private func makeDatabase() async throws -> TestDatabase {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                SELECT appstore.receive(ARRAY['\\x01', '\\x02', '\\x03']::bytea[]);
                DELETE FROM appstore.inbox_queue WHERE event_id < 3;
                UPDATE appstore.inbox_queue SET attempts = 2, run_at = now() + interval '1 hour';
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, bundle_id)
                SELECT event_id, source, received_at, now(), 1, 1, (CASE event_id WHEN 1 THEN 'applied' ELSE 'rejected' END)::appstore.result,
                       CASE event_id WHEN 2 THEN 'wrong_bundle' END, 'com.example.app'
                FROM appstore.inbox WHERE event_id < 3;
                """
            )
        }
        return database
    }

    private func asOperator(_ database: TestDatabase, _ statement: Statement) async throws -> Int64? {
        try await database.withConnection(user: "appstore_operator") { connection in
            try await connection.query(statement).first?.decode(0, as: Int64?.self)
        }
    }

    @Test(arguments: [1, 2, 3])
    func `any event can be run again, and the audit log says who did it`(event: Int64) async throws {
        let database = try await makeDatabase()
        #expect(try await asOperator(database, "SELECT appstore.requeue_event(\(event), 'try again')") == 1)
        let ready = try await database.lines(
            "SELECT concat_ws('|', event_id, attempts, run_at <= now()) FROM appstore.inbox_queue WHERE event_id = \(event)"
        )
        #expect(ready == ["\(event)|0|t"])
        #expect(
            try await database.lines("SELECT concat_ws('|', actor, action, event_ids, note) FROM appstore.audit_log")
                == ["appstore_operator|requeue|{\(event)}|try again"]
        )
        let history = try await database.lines("SELECT concat_ws('|', event_id, run, replaced_by) FROM appstore.outcome_history")
        #expect(history == (event < 3 ? ["\(event)|1|appstore_operator"] : []))
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `events are requeued by what became of them, after a look at how many`() async throws {
        let database = try await makeDatabase()
        let filter = "result => 'rejected', reason => 'wrong_bundle', bundle_id => 'com.example.app'"
        #expect(try await RepairBench.count("requeue(\(filter), dry_run => true)", in: database) == 1)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1"])
        #expect(try await RepairBench.repair("requeue(\(filter))", in: database) == 1)
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue ORDER BY 1") == ["2", "3"])
        #expect(try await RepairBench.repair("requeue(result => 'failed')", in: database) == 0)
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: [
        "SELECT appstore.requeue_event(99)", "SELECT appstore.discard_event(2, ' ')",
        "SELECT appstore.discard_event(1, 'has been applied')", "SELECT appstore.discard_event(99, 'is not there')",
    ])
    func `a repair that makes no sense is refused and changes nothing`(statement: String) async throws {
        let database = try await makeDatabase()
        await #expect(throws: PostgresError.self) { try await asOperator(database, "\(unsafeRaw: statement)") }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["2"])
    }

    @Test func `a discard of one event by a quoted id touches this event only`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(110, result: "failed", in: database)
        #expect(try await asOperator(database, "SELECT appstore.discard_event('104', 'failed')") == 1)
        #expect(
            try await database.lines("SELECT concat_ws('|', event_id, reason) FROM appstore.outcomes WHERE result <> 'failed'") == [
                "104|failed"
            ]
        )
        #expect(try await database.lines("SELECT event_ids::text FROM appstore.audit_log") == ["{104}"])
    }

    @Test(arguments: ["requeue_event(3, 'now')", "discard_event(3, 'not ours')"])
    func `a repair of an event that a worker holds changes nothing, returns 0 and says so with a notice`(call: String) async throws {
        let database = try await makeDatabase()
        let log = CapturedLog()
        try await database.withConnection { worker in
            try await worker.withTransaction { transaction in
                _ = try await transaction.query("SELECT FROM appstore.inbox_queue WHERE event_id = 3 FOR UPDATE")
                let desk = try await Connection.open(ConnectionOptions(database.url(user: "appstore_operator")), logger: log.logger)
                let repaired = try await desk.query("SELECT appstore.\(unsafeRaw: call)")[0].decode(0, as: Int64.self)
                await desk.close()
                #expect(repaired == 0)
            }
        }
        #expect(log.text.contains("server notice") && log.text.contains("NOTICE"))
        #expect(try await database.lines("SELECT attempts::text FROM appstore.inbox_queue") == ["2"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
    }

    @Test(arguments: [2, 3])
    func `an event that is waiting or was refused can be discarded, with a reason`(event: Int64) async throws {
        let database = try await makeDatabase()
        try await database.withConnection(user: "appstore_operator") { connection in
            _ = try await connection.execute("SELECT appstore.discard_event(\(event), 'a test of ours')")
        }
        let outcome = try await database.lines(
            "SELECT concat_ws('|', result, reason, attempts) FROM appstore.inbox_status WHERE event_id = \(event)"
        )
        #expect(outcome == ["discarded|a test of ours|\(event == 2 ? 1 : 2)"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `events are discarded by what became of them, after a look at how many`() async throws {
        let database = try await makeDatabase()
        let filter = "note => 'junk', reason => 'wrong_bundle', bundle_id => 'com.example.app', received_before => now() + '1 hour'"
        #expect(try await RepairBench.count("discard(\(filter), dry_run => true)", in: database) == 1)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
        #expect(try await RepairBench.repair("discard(\(filter))", in: database) == 1)
        #expect(try await RepairBench.repair("discard(\(filter))", in: database) == 0)
        #expect(
            try await database.lines("SELECT concat_ws('|', event_id, result, reason, run) FROM appstore.outcomes ORDER BY event_id") == [
                "1|applied|1", "2|discarded|junk|2",
            ]
        )
        #expect(
            try await database.lines("SELECT concat_ws('|', actor, action, event_ids, note, details ->> 'reason') FROM appstore.audit_log")
                == [
                    "appstore_operator|discard|{2}|junk|wrong_bundle"
                ]
        )
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["3"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }
}
