import Inbox
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Repairs of more events than one transaction should touch.
struct MaintenanceRepairTests {
    @Test func `more than a thousand events are requeued by a request, each once`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(2500, result: "failed", in: database)
        try await MaintenanceBench.settled(10, result: "applied", in: database)
        let all = "outcome => 'failed', max_events => NULL"
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue(\(unsafeRaw: all), dry_run => true)") == 2500)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repairs") == ["0"])
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue(\(unsafeRaw: all), note => 'again')") == 2500)
        // What fails after the request is none of its business.
        try await MaintenanceBench.settled(5, result: "failed", age: "-1 second", in: database)

        let steps = try await MaintenanceBench.finish(.repair, in: database)
        #expect(steps.map(\.rows) == [1000, 1000, 500])
        #expect(steps.last?.did == "requeue 1 done")
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_ready") == ["2500"])
        #expect(
            try await database.lines("SELECT concat_ws('|', state, events_expected, events_repaired, error) FROM appstore.repairs") == [
                "done|2500|2500"
            ]
        )
        #expect(
            try await database.lines(
                "SELECT actor || '|' || action || '|' || cardinality(event_ids) FROM appstore.audit_log ORDER BY audit_id"
            )
                == [
                    "appstore_operator|request_requeue|0", "appstore_operator|requeue|0", "appstore_operator|requeue|0",
                    "appstore_operator|requeue|0",
                ]
        )
        #expect(
            try await database.lines("SELECT DISTINCT replaced_by FROM appstore.outcome_history") == ["appstore_operator"]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `up to a thousand events are requeued at once, and no request is left`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1000, result: "failed", in: database)
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue(outcome => 'failed', max_events => NULL)") == 1000)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repairs") == ["0"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `an event that fails again after its requeue is not requeued by the same request`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        _ = try await MaintenanceBench.step(.repair, in: database)
        try await MaintenanceBench.execute(
            """
            INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
            SELECT r.event_id, 'notification_v2', now(), clock_timestamp(), 2, 1, 'failed', 'again' FROM appstore.inbox_ready AS r;
            DELETE FROM appstore.inbox_ready;
            """,
            in: database
        )
        try await MaintenanceBench.hurry(database)
        _ = try await MaintenanceBench.finish(.repair, in: database)
        #expect(try await database.lines("SELECT max(run)::text FROM appstore.outcome_history") == ["1"])
        #expect(try await database.lines("SELECT events_repaired::text FROM appstore.repairs") == ["1500"])
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test func `a worker that dies within a step loses nothing and repeats nothing`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(2500, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        for round in 0..<2 {
            // Dies before its commit.
            await #expect(throws: PostgresError.self) {
                try await database.withConnection(user: "appstore_worker") { connection in
                    try await connection.withTransaction { transaction in
                        #expect(try await transaction.query("SELECT events FROM appstore.repair_step()").count == 1)
                        try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                    }
                }
            }
            #expect(try await database.lines("SELECT events_repaired::text FROM appstore.repairs") == ["\(round * 1000)"])
            #expect(try await database.eventsNotExactlyOnce() == [])
            #expect(try await MaintenanceBench.step(.repair, in: database)?.rows == 1000)
            try await MaintenanceBench.hurry(database)
        }
        #expect(try await MaintenanceBench.finish(.repair, in: database).map(\.rows) == [500])
        #expect(try await database.lines("SELECT count(*) || '|' || max(run) FROM appstore.outcome_history") == ["2500|1"])
    }

    @Test func `outcomes that go while a step looks do not have it pass others`() async throws {
        let database = try await InboxDatabase.make()
        // More than one step looks at; what fits is beyond that.
        try await MaintenanceBench.settled(20_000, result: "applied", in: database)
        try await MaintenanceBench.settled(600, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        // As if they had been aged or requeued by somebody else meanwhile.
        try await MaintenanceBench.execute(
            """
            CREATE OR REPLACE FUNCTION appstore.fits(o appstore.outcomes, f appstore.repair_filter) RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN
                IF o.event_id = 10000 THEN
                    DELETE FROM appstore.outcomes AS gone WHERE gone.event_id <= 600;
                END IF;
                RETURN o.result = f.outcome;
            END
            $$
            """,
            in: database
        )
        #expect(try await MaintenanceBench.finish(.repair, in: database).map(\.rows) == [0, 600])
        #expect(try await database.lines("SELECT state || '|' || events_repaired FROM appstore.repairs") == ["done|600"])
    }

    @Test func `one worker at a time carries a request`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        try await database.withConnection(user: "appstore_worker") { first in
            try await first.withTransaction { transaction in
                let first = try await transaction.query("SELECT events FROM appstore.repair_step()").count
                let second = try await MaintenanceBench.step(.repair, in: database)
                #expect(first == 1)
                #expect(second == nil)
            }
        }
        #expect(try await database.lines("SELECT events_repaired::text FROM appstore.repairs") == ["1000"])
    }

    @Test func `a request is stopped by SQL, and what it did stays`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(2500, result: "failed", in: database)
        let repair = try await MaintenanceBench.asOperator(
            database,
            "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')"
        )
        _ = try await MaintenanceBench.step(.repair, in: database)
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.stop_repair(\(repair))::int::bigint") == 1)
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.stop_repair(\(repair))::int::bigint") == 0)
        try await MaintenanceBench.hurry(database)
        #expect(try await MaintenanceBench.finish(.repair, in: database) == [])
        #expect(
            try await database.lines("SELECT concat_ws('|', state, stopped_by, events_repaired) FROM appstore.repairs") == [
                "stopped|appstore_operator|1000"
            ]
        )
    }

    @Test func `requeued events are spread, and none are added while a thousand are due`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3000, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        let start = ContinuousClock.now
        _ = try await MaintenanceBench.step(.repair, in: database)
        // Each is spread from the moment at which it is put back.
        let step = Double((ContinuousClock.now - start) / .milliseconds(1))
        let spread = try await database.lines(
            """
            SELECT (max(run_at) - min(run_at) BETWEEN '700 ms' AND interval '900 ms' + \(step) * interval '1 ms')::text
            FROM appstore.inbox_ready
            """
        )
        #expect(spread == ["true"])
        try await MaintenanceBench.execute(
            "UPDATE appstore.inbox_ready SET run_at = now(); UPDATE appstore.repairs SET next_step_at = now()",
            in: database
        )
        #expect(try await MaintenanceBench.step(.repair, in: database)?.rows == 0)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_ready") == ["1000"])
        #expect(try await database.lines("SELECT (pace > '1 second')::text FROM appstore.repairs") == ["true"])
    }

    @Test func `a step that fails is tried again, and says why when it gives up`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.request_repair('requeue', '{\"outcome\": \"failed\"}')")
        try await MaintenanceBench.execute("ALTER TABLE appstore.inbox_ready ADD CONSTRAINT shut CHECK (false) NOT VALID", in: database)
        for _ in 0..<20 {
            #expect(try await MaintenanceBench.step(.repair, in: database)?.rows == 0)
            try await MaintenanceBench.hurry(database)
        }
        #expect(
            try await database.lines("SELECT concat_ws('|', state, failures, error LIKE '%shut%') FROM appstore.repairs") == ["failed|20|t"]
        )
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["1500"])
    }

    @Test func `events are discarded by what became of them, but never what was applied`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1200, result: "rejected", in: database)
        try await MaintenanceBench.settled(3, result: "applied", in: database)
        let filter = "notification_type => 'TEST', max_events => NULL"
        #expect(
            try await MaintenanceBench.asOperator(database, "SELECT appstore.discard('junk', \(unsafeRaw: filter), dry_run => true)")
                == 1200
        )
        #expect(try await MaintenanceBench.asOperator(database, "SELECT appstore.discard('junk', \(unsafeRaw: filter))") == 1200)
        #expect(try await MaintenanceBench.finish(.repair, in: database).map(\.rows) == [1000, 200])
        #expect(
            try await database.lines(
                "SELECT result || '|' || reason || '|' || run || '|' || count(*) FROM appstore.outcomes GROUP BY result, reason, run ORDER BY 1"
            )
                == ["applied|by_test|1|3", "discarded|junk|2|1200"]
        )
        #expect(try await database.eventsNotExactlyOnce() == [])
    }

    @Test(arguments: [
        "SELECT appstore.request_repair('requeue', '{}')", "SELECT appstore.request_repair('requeue', '{\"outcom\": \"failed\"}')",
        "SELECT appstore.request_repair('repair', '{\"outcome\": \"failed\"}')",
        "SELECT appstore.request_repair('discard', '{\"outcome\": \"failed\"}')", "SELECT appstore.stop_repair(7)",
        "SELECT appstore.discard(' ', outcome => 'failed')", "SELECT appstore.requeue(outcome => 'failed', max_events => 0)",
    ])
    func `a request that makes no sense is refused`(statement: String) async throws {
        let database = try await InboxDatabase.make()
        await #expect(throws: PostgresError.self) { _ = try await MaintenanceBench.asOperator(database, "\(unsafeRaw: statement)") }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.repairs") == ["0"])
    }
}
