import Inbox
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// A body that the disk has lost.
struct InboxQueueBodyTests {
    /// Events 1 to 3, of which the second has a body in pieces, one of them missing.
    private func withDamage(_ body: (TestDatabase, InboxQueue<ClaimedEvent>) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        let bodies: [[UInt8]] = [[1], Array(repeating: 2, count: 20_000), [3]]
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
        let pieces = try await database.lines(
            """
            SELECT c.reltoastrelid::regclass::text FROM pg_class AS c
            WHERE c.oid = (SELECT i.tableoid FROM appstore.inbox AS i WHERE i.event_id = 2)
            """
        )[0]
        try await database.withConnection { connection in
            // No role may delete from such a table, so for a moment it is none.
            try await connection.runScript(
                """
                UPDATE pg_class SET relkind = 'r' WHERE oid = '\(pieces)'::regclass;
                DELETE FROM \(pieces) WHERE chunk_seq = 3;
                UPDATE pg_class SET relkind = 't' WHERE oid = '\(pieces)'::regclass;
                """
            )
            // Until then it can still be read.
            try await connection.runScript("VACUUM \(pieces)")
        }
        let pool = try database.pool(user: "appstore_worker")
        let queue = InboxQueue<ClaimedEvent>(pool: pool, configuration: .init(), logger: .silent, prepare: { $0 }) { events, _ in
            events.map { event in .outcome(Outcome(.applied, reason: "\(event.source), \(event.body.count) bytes")) }
        }
        try await body(database, queue)
        await pool.close()
    }

    private static let waiting: Statement = """
        SELECT concat_ws('|', event_id, attempts, run_at > now() + interval '1 hour', last_error LIKE 'its body cannot be read: %chunk number%')
        FROM appstore.inbox_queue
        """

    @Test func `one that cannot be read costs the others a claim, and is put off without an attempt`() async throws {
        try await withDamage { database, queue in
            await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 2])
            #expect(report.retries == 1)
            #expect(try await database.lines(Self.waiting) == ["2|0|t|t"])
            let outcomes = try await database.lines("SELECT concat_ws('|', event_id, source, reason) FROM appstore.outcomes ORDER BY 1")
            #expect(outcomes == ["1|notification_v2|notification_v2, 1 bytes", "3|notification_v2|notification_v2, 1 bytes"])
        }
    }

    @Test func `a suspect that cannot be read is put off, too`() async throws {
        try await withDamage { database, queue in
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET is_isolated = (event_id = 2)") }
            #expect(try await queue.lookForLostBatches().suspectsAreDue)
            await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
            #expect(try await queue.takeBatch().retries == 1)
            #expect(try await database.lines(Self.waiting).contains("2|0|t|t"))
            #expect(try await queue.takeBatch().results == [.applied: 2])
        }
    }

    @Test func `a right to read that is missing is nobody's fault: every event stays due`() async throws {
        try await withDamage { database, queue in
            try await database.withConnection { try await $0.runScript("REVOKE SELECT ON appstore.inbox FROM appstore_worker") }
            for _ in 0..<2 { await #expect(throws: PostgresError.self) { try await queue.takeBatch() } }
            let due = try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue WHERE run_at <= now() AND attempts = 0")
            #expect(due == ["3"])
        }
    }
}
