import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// `CALL appstore.requeue_all(…)` and `CALL appstore.discard_all(…)` in the session of an operator.
@Suite(.timeLimit(.minutes(2)))
struct RepairProcedureTests {
    private func call(_ statement: String, in database: TestDatabase) async throws {
        try await database.withConnection(user: "appstore_operator") { _ = try await $0.execute("\(unsafeRaw: statement)") }
    }

    @Test func `a call discards all events that meet its conditions, in steps of a thousand`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(2200, result: "rejected", in: database)
        try await MaintenanceBench.settled(10, result: "failed", in: database)
        try await call("CALL appstore.discard_all('junk', result => 'rejected')", in: database)
        #expect(
            try await database.lines(
                "SELECT concat_ws('|', actor, action, cardinality(event_ids), note) FROM appstore.audit_log ORDER BY audit_id"
            ) == [1000, 1000, 200].map { "appstore_operator|discard|\($0)|junk" }
        )
        #expect(
            try await database.lines("SELECT result || '|' || count(*) FROM appstore.outcomes GROUP BY result ORDER BY 1") == [
                "discarded|2200", "failed|10",
            ]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a call that is ended keeps what it repaired, and is repeated for the rest`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        // No worker settles the first thousand: the call waits, and is ended.
        let error = await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_operator") { connection in
                try await connection.execute("SET statement_timeout = '3s'")
                try await connection.execute("CALL appstore.requeue_all(result => 'failed')")
            }
        }
        #expect(error?.sqlState?.rawValue == "57014")
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1000"])
        try await RepairBench.settle("applied", in: database)
        try await call("CALL appstore.requeue_all(result => 'failed')", in: database)
        #expect(try await database.lines("SELECT count(*) || '|' || max(run) FROM appstore.outcome_history") == ["1500|1"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a call within a transaction is refused and changes nothing`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(5, result: "failed", in: database)
        let error = await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_operator") { connection in
                try await connection.withTransaction { try await $0.execute("CALL appstore.requeue_all(result => 'failed')") }
            }
        }
        #expect(error?.sqlState?.rawValue == "2D000")
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["0"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: ["CALL appstore.requeue_all(result => 'failed')", "CALL appstore.discard_all('x', result => 'failed')"])
    func `a call waits for a transaction that holds one of its events`(statement: String) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(5, result: "failed", in: database)
        try await database.withConnection { holder in
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await holder.withTransaction { transaction in
                    _ = try await transaction.query("SELECT FROM appstore.outcomes WHERE event_id = 3 FOR UPDATE")
                    group.addTask { try await call(statement, in: database) }
                    try await MaintenanceBench.awaitWaiting(database)
                }
                try await group.waitForAll()
            }
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcome_history") == ["5"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }
}
