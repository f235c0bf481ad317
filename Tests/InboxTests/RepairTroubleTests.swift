import Inbox
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Requests whose steps take too long, are stopped, or meet a queue that nobody can clean up.
@Suite(.timeLimit(.minutes(2)))
struct RepairTroubleTests {
    private func request(_ outcome: String, in database: TestDatabase) async throws {
        _ = try await MaintenanceBench.asOperator(
            database,
            "SELECT appstore.request_repair('requeue', jsonb_build_object('outcome', \(outcome)::text))"
        )
    }

    @Test func `a step that runs into the time-out is an error of its request, and others come first`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(10, result: "failed", in: database)
        try await MaintenanceBench.settled(10, result: "rejected", in: database)
        try await request("failed", in: database)
        try await request("rejected", in: database)
        try await MaintenanceBench.execute(
            """
            CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
            CREATE TRIGGER slow BEFORE INSERT ON appstore.outcome_history FOR EACH ROW WHEN (NEW.result = 'failed') EXECUTE FUNCTION slow();
            """,
            in: database
        )
        let steps = try await database.withConnection { connection in
            try await connection.execute("SET statement_timeout = '500ms'")
            return [try await MaintenanceTask.repair.step(on: connection), try await MaintenanceTask.repair.step(on: connection)]
        }
        #expect(steps.map { $0?.did } == ["requeue 1 requested", "requeue 2 done"])
        #expect(steps.map { $0?.rows } == [0, 10])
        #expect(
            try await database.lines(
                "SELECT concat_ws('|', state, failures, next_step_at > now(), error) FROM appstore.repairs WHERE repair_id = 1"
            ) == ["requested|1|t|canceling statement due to statement timeout"]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a request is stopped while a step of it runs, which stays; the audit log says who did it, and why`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(2500, result: "failed", in: database)
        try await request("failed", in: database)
        try await database.withConnection(user: "appstore_worker") { worker in
            try await withThrowingTaskGroup(of: Int64?.self) { group in
                try await worker.withTransaction { transaction in
                    #expect(try await transaction.query("SELECT FROM appstore.repair_step()").count == 1)
                    group.addTask {
                        try await MaintenanceBench.asOperator(database, "SELECT appstore.stop_repair(1, 'too many')::int::bigint")
                    }
                    try await MaintenanceBench.awaitWaiting(database)
                }
                #expect(try await group.next() == 1)
            }
        }
        try await MaintenanceBench.hurry(database)
        #expect(try await MaintenanceBench.finish(.repair, in: database) == [])
        #expect(
            try await database.lines("SELECT concat_ws('|', state, stopped_by, events_repaired) FROM appstore.repairs") == [
                "stopped|appstore_operator|1000"
            ]
        )
        #expect(
            try await database.lines(
                "SELECT concat_ws('|', actor, note, filter ->> 'repair_id') FROM appstore.audit_log WHERE action = 'stop_requeue'"
            ) == ["appstore_operator|too many|1"]
        )
    }

    @Test func `a step reads no more of the queue because of dead entries that a snapshot keeps, once it has passed them`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        try await database.withConnection { holder in
            try await holder.withTransaction { snapshot in
                try await snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                _ = try await snapshot.query("SELECT count(*) FROM appstore.outcomes")
                try await MaintenanceBench.execute(
                    """
                    INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
                    SELECT 100000 + n, now() - interval '1 hour' + n * interval '1 ms', 1 FROM generate_series(1, 50000) AS n;
                    DELETE FROM appstore.inbox_ready;
                    """,
                    in: database
                )
                try await request("failed", in: database)
                var entries: [Int64] = []
                for _ in 0..<2 {
                    entries.append(try await entriesRead(in: database))
                    try await MaintenanceBench.hurry(database)
                }
                #expect(entries[0] >= 50_000, "it had none to pass: then this test shows nothing")
                #expect(entries[1] < 5000)
            }
        }
        #expect(try await MaintenanceBench.finish(.repair, in: database).map(\.rows) == [1000, 0])
        #expect(try await database.lines("SELECT state FROM appstore.repairs") == ["done"])
    }

    @Test func `what has been due since a repair looked last still counts`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        try await request("failed", in: database)
        #expect(try await MaintenanceBench.step(.repair, in: database)?.rows == 1000)
        // Nobody took them for an hour.
        try await MaintenanceBench.execute(
            """
            UPDATE appstore.inbox_ready SET run_at = run_at - interval '1 hour';
            UPDATE appstore.repairs SET next_step_at = now(), due_from = due_from - interval '1 hour';
            """,
            in: database
        )
        for _ in 0..<3 {
            #expect(try await MaintenanceBench.step(.repair, in: database)?.rows == 0)
            try await MaintenanceBench.execute("UPDATE appstore.repairs SET next_step_at = now()", in: database)
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_ready") == ["1000"])
    }

    /// Entries of the queue's index by time that a step reads.
    private func entriesRead(in database: TestDatabase) async throws -> Int64 {
        try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                _ = try await transaction.query("SELECT FROM appstore.repair_step()")
                let rows = try await transaction.query(
                    """
                    SELECT pg_stat_get_xact_tuples_returned(c.oid) FROM pg_class AS c WHERE c.oid = 'appstore.inbox_ready_by_run_at'::regclass
                    """
                )
                return try rows[0].decode(0)
            }
        }
    }
}
