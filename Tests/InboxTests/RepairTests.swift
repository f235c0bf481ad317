import Inbox
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
                DELETE FROM appstore.inbox_ready WHERE event_id < 3;
                UPDATE appstore.inbox_ready SET attempts = 2, run_at = now() + interval '1 hour';
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, bundle_id)
                SELECT event_id, source, received_at, now(), 1, 1, CASE event_id WHEN 1 THEN 'applied' ELSE 'rejected' END,
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
        #expect(try await asOperator(database, "SELECT appstore.requeue(\(event), 'try again')") == 1)
        let ready = try await database.lines(
            "SELECT concat_ws('|', event_id, attempts, run_at <= now()) FROM appstore.inbox_ready WHERE event_id = \(event)"
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
        let filter = "outcome => 'rejected', reason => 'wrong_bundle', bundle_id => 'com.example.app'"
        #expect(try await asOperator(database, "SELECT appstore.requeue(\(unsafeRaw: filter), dry_run => true)") == 1)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_ready") == ["1"])
        #expect(try await asOperator(database, "SELECT appstore.requeue(\(unsafeRaw: filter))") == 1)
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_ready ORDER BY 1") == ["2", "3"])
        #expect(try await asOperator(database, "SELECT appstore.requeue(outcome => 'failed')") == 0)
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: [
        "SELECT appstore.requeue(99)", "SELECT appstore.requeue()", "SELECT appstore.requeue(outcome => 'lost')",
        "SELECT appstore.requeue(outcome => 'failed', max_events => 1001)", "SELECT appstore.discard(2, ' ')",
        "SELECT appstore.discard(1, 'has been applied')", "SELECT appstore.discard(99, 'is not there')",
    ])
    func `a repair that makes no sense is refused and changes nothing`(statement: String) async throws {
        let database = try await makeDatabase()
        await #expect(throws: PostgresError.self) { try await asOperator(database, "\(unsafeRaw: statement)") }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["2"])
    }

    @Test(arguments: [2, 3])
    func `an event that is waiting or was refused can be discarded, with a reason`(event: Int64) async throws {
        let database = try await makeDatabase()
        try await database.withConnection(user: "appstore_operator") { connection in
            _ = try await connection.execute("SELECT appstore.discard(\(event), 'a test of ours')")
        }
        let outcome = try await database.lines(
            "SELECT concat_ws('|', outcome, reason, attempts) FROM appstore.inbox_status WHERE event_id = \(event)"
        )
        #expect(outcome == ["discarded|a test of ours|\(event == 2 ? 1 : 2)"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `events are discarded by what became of them, after a look at how many`() async throws {
        let database = try await makeDatabase()
        let filter = "'junk', reason => 'wrong_bundle', bundle_id => 'com.example.app', received_before => now() + interval '1 hour'"
        #expect(try await asOperator(database, "SELECT appstore.discard(\(unsafeRaw: filter), dry_run => true)") == 1)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
        #expect(try await asOperator(database, "SELECT appstore.discard(\(unsafeRaw: filter))") == 1)
        #expect(try await asOperator(database, "SELECT appstore.discard(\(unsafeRaw: filter))") == 0)
        #expect(
            try await database.lines("SELECT concat_ws('|', event_id, result, reason, run) FROM appstore.outcomes ORDER BY event_id") == [
                "1|applied|1", "2|discarded|junk|2",
            ]
        )
        #expect(
            try await database.lines("SELECT concat_ws('|', actor, action, event_ids, note, filter ->> 'reason') FROM appstore.audit_log")
                == [
                    "appstore_operator|discard|{2}|junk|wrong_bundle"
                ]
        )
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_ready") == ["3"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }
}
