import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Repairs in steps beside events that are due, locks of others, and a queue that vacuum cannot clean.
@Suite(.timeLimit(.minutes(2)))
struct RepairPaceTests {
    private static let failed = #"{"result": "failed"}"#

    @Test func `requeued events are spread, and none are added while a thousand are due`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        let start = ContinuousClock.now
        let first = try await RepairBench.step(in: database)
        #expect((first.events, first.pause) == (1000, 0.8), "nothing is due: 1,000 become due within 0.8 seconds")
        // Each is spread from the moment at which it is put into the queue.
        let step = Double((ContinuousClock.now - start) / .milliseconds(1))
        let spread = try await database.lines(
            """
            SELECT (max(run_at) - min(run_at) BETWEEN '700 ms' AND interval '900 ms' + \(step) * interval '1 ms')::text
            FROM appstore.inbox_queue
            """
        )
        #expect(spread == ["true"])
        try await MaintenanceBench.execute("UPDATE appstore.inbox_queue SET run_at = now()", in: database)
        let second = try await RepairBench.step(after: first.progress, in: database)
        #expect((second.events, second.isDone) == (1000, false))
        #expect(second.pause > 0)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1000"])
        try await RepairBench.delay(database)
        #expect(try await RepairBench.step(after: second.progress, in: database).pause > 0.8, "the pace is slower")
    }

    @Test func `a step that fails changes nothing, and can be repeated`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        try await MaintenanceBench.execute("ALTER TABLE appstore.inbox_queue ADD CONSTRAINT shut CHECK (false) NOT VALID", in: database)
        let error = await #expect(throws: PostgresError.self) { _ = try await RepairBench.step(in: database) }
        #expect(error?.message.contains("shut") == true)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["1500"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
        try await MaintenanceBench.execute("ALTER TABLE appstore.inbox_queue DROP CONSTRAINT shut", in: database)
        #expect(try await RepairBench.finish(in: database) == [1000, 1500])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a step that needs an event of another transaction gives up after the role's timeout, and is repeated later`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        try await database.withConnection { holder in
            try await holder.withTransaction { transaction in
                _ = try await transaction.query("SELECT FROM appstore.outcomes WHERE event_id = 500 FOR UPDATE")
                let error = await #expect(throws: PostgresError.self) {
                    try await database.withConnection(user: "appstore_operator") { connection in
                        try await connection.execute("SET lock_timeout = '200ms'")
                        _ = try await RepairBench.step("requeue", Self.failed, after: nil, on: connection)
                    }
                }
                #expect(error?.sqlState == .lockNotAvailable)
                #expect(error?.isSerializationConflict == true)
                #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["1500"])
            }
        }
        #expect(try await RepairBench.finish(in: database) == [1000, 1500])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a step passes dead entries of the queue that a snapshot keeps only once`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        try await database.withConnection { holder in
            try await holder.withTransaction { snapshot in
                try await snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await snapshot.query("SELECT count(*) FROM appstore.outcomes")
                try await MaintenanceBench.execute(
                    """
                    INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                    SELECT 100000 + n, now() - interval '1 hour' + n * interval '1 ms', 1 FROM generate_series(1, 50000) AS n;
                    DELETE FROM appstore.inbox_queue;
                    """,
                    in: database
                )
                var (entries, progress): ([Int64], String?) = ([], nil)
                for _ in 0..<2 {
                    let (read, step) = try await entriesRead(after: progress, in: database)
                    entries.append(read)
                    progress = step.progress
                    try await RepairBench.delay(database)
                }
                #expect(entries[0] >= 50_000, "there were none to pass: then this test shows nothing")
                #expect(entries[1] < 5000)
            }
        }
    }

    @Test func `events that have been due since before the last step count`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        let first = try await RepairBench.step(in: database)
        // As if no worker had taken them for an hour.
        try await MaintenanceBench.execute("UPDATE appstore.inbox_queue SET run_at = run_at - interval '1 hour'", in: database)
        var progress = try await database.lines(
            """
            SELECT jsonb_populate_record(given.p, jsonb_build_object('due_from', (given.p).due_from - interval '1 hour'))::text
            FROM (SELECT \(first.progress)::text::appstore.repair_progress AS p) AS given
            """
        )[0]
        for _ in 0..<3 {
            let step = try await RepairBench.step(after: progress, in: database)
            #expect((step.events, step.isDone) == (1000, false))
            progress = step.progress
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1000"])
    }

    /// Takes a step, and counts the entries of the queue's index by time that it reads.
    private func entriesRead(after progress: String?, in database: TestDatabase) async throws -> (Int64, RepairBench.Step) {
        try await database.withConnection { connection in
            try await connection.execute("BEGIN")
            let step = try await RepairBench.step("requeue", Self.failed, after: progress, on: connection)
            let rows = try await connection.query(
                """
                SELECT pg_stat_get_xact_tuples_returned(c.oid) FROM pg_class AS c WHERE c.oid = 'appstore.inbox_queue_by_run_at'::regclass
                """
            )
            try await connection.execute("COMMIT")
            return (try rows[0].decode(0), step)
        }
    }
}
