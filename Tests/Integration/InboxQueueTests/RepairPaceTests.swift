import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Repairs beside events that are due, locks of others, and a queue that vacuum cannot clean.
@Suite(.timeLimit(.minutes(2)))
struct RepairPaceTests {
    private func pace(_ database: TestDatabase) async throws -> [String] {
        try await database.lines("SELECT pace::text FROM appstore.repairs")
    }

    @Test func `requeued events are spread, and none are added while a thousand are due`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        try await RepairBench.begin(in: database)
        let start = ContinuousClock.now
        #expect(try await RepairBench.step(in: database).repaired == 1000)
        #expect(try await pace(database) == ["00:00:00.8"], "nothing is due: 1,000 become due within 0.8 seconds")
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
        let second = try await RepairBench.step(in: database)
        #expect((second.repaired, second.state) == (1000, "running"))
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1000"])
        #expect(try await pace(database) == ["00:00:01.2"], "it is slower")
        try await RepairBench.delay(database)
        #expect(try await RepairBench.step(in: database).repaired == 2000)
        #expect(try await pace(database) == ["00:00:00.96"])
    }

    @Test func `a step that the database refuses changes nothing, and ends the repair`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        try await MaintenanceBench.execute("ALTER TABLE appstore.inbox_queue ADD CONSTRAINT shut CHECK (false) NOT VALID", in: database)
        try await RepairBench.begin(in: database)
        let step = try await RepairBench.step(in: database)
        #expect((step.state, step.repaired, step.pause) == ("failed", 0, nil))
        #expect(step.error?.contains("shut") == true)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["1500"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
        try await MaintenanceBench.execute("ALTER TABLE appstore.inbox_queue DROP CONSTRAINT shut", in: database)
        try await RepairBench.begin(in: database)
        #expect(try await RepairBench.finish(in: database) == [1000, 1500])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a step that needs an event of another transaction gives up after the role's timeout, and is repeated later`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        try await RepairBench.begin(in: database)
        try await database.holding("SELECT FROM appstore.outcomes WHERE event_id = 500 FOR UPDATE") {
            let step = try await RepairBench.step(in: database)
            #expect((step.state, step.repaired) == ("running", 0))
            #expect(step.error?.contains("lock timeout") == true)
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["1500"])
            // Not at once.
            #expect(try await database.lines("SELECT (run_at > asked_at + interval '5 seconds')::text FROM appstore.repairs") == ["true"])
        }
        #expect(try await RepairBench.finish(in: database) == [1000, 1500])
        #expect(try await database.lines("SELECT state FROM appstore.repair_status WHERE last_error IS NULL") == ["done"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a step passes dead entries of the queue that a snapshot keeps only once`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        try await RepairBench.begin(in: database)
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
                var entries: [Int64] = []
                for _ in 0..<2 {
                    entries.append(try await entriesRead(in: database))
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
        try await RepairBench.begin(in: database)
        _ = try await RepairBench.step(in: database)
        // As if no worker had taken them for an hour.
        try await MaintenanceBench.execute(
            """
            UPDATE appstore.inbox_queue SET run_at = run_at - interval '1 hour';
            UPDATE appstore.repairs SET due_from = due_from - interval '1 hour';
            """,
            in: database
        )
        for _ in 0..<3 {
            let step = try await RepairBench.step(in: database)
            #expect((step.repaired, step.state) == (1000, "running"))
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") == ["1000"])
    }

    /// Takes a step, and counts the entries of the queue's index by time that it reads.
    private func entriesRead(in database: TestDatabase) async throws -> Int64 {
        try await RepairBench.makeDue(database)
        return try await database.withConnection { connection in
            try await connection.execute("BEGIN")
            _ = try await RepairBench.step(on: connection)
            let rows = try await connection.query(
                """
                SELECT pg_stat_get_xact_tuples_returned(c.oid) FROM pg_class AS c WHERE c.oid = 'appstore.inbox_queue_by_run_at'::regclass
                """
            )
            try await connection.execute("COMMIT")
            return try rows[0].decode(0)
        }
    }
}
