import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Synchronization
import Testing

/// Maintenance and a repair beside live traffic.
struct MaintenanceServiceTests {
    /// `REPAIR_EVENTS`: how many are requeued, on a cluster as in earnest and with `REPAIR_BYTES` in each body; a million take some minutes.
    @Test(.timeLimit(.minutes(60)))
    func `thousands of events are requeued by one call, while fresh ones are settled at once`() async throws {
        let byHand = MaintenanceBench.number("REPAIR_EVENTS")
        let count = byHand ?? 5000
        let bytes = MaintenanceBench.number("REPAIR_BYTES") ?? 1
        let database = try await InboxDatabase.make(in: try await MaintenanceBench.cluster(byHand: byHand))
        try await MaintenanceBench.settled(count, result: "failed", bodyBytes: bytes, in: database)
        let pool = try database.pool(user: "appstore_worker", connections: 4)
        let queue = EventQueue<ClaimedEvent>(
            pool: pool,
            configuration: .init(),
            logger: .silent,
            prepare: { $0 },
            merge: { events, _ in events.map { _ in .outcome(Outcome(.applied)) } }
        )
        let group = ServiceGroup(
            configuration: .init(
                services: [MaintenanceService(pool: pool, logger: .silent), MaintenanceService(pool: pool, logger: .silent)]
                    .map { .init(service: $0) },
                logger: .silent
            )
        )
        let traffic = Traffic()
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask { try await requeue(in: database) }
            tasks.addTask { try await receive(bodyBytes: bytes, in: database, traffic) }
            for _ in 0..<3 { tasks.addTask { try await work(queue, traffic) } }
            tasks.addTask {
                defer { traffic.end() }
                try await awaitRepair(of: count, in: database)
                await group.triggerGracefulShutdown()
            }
            try await tasks.waitForAll()
        }
        // One may have been on its way when the others ended.
        while try await queue.takeBatch().events > 0 {}
        let fresh = try await database.lines("SELECT count(*)::text FROM appstore.outcomes WHERE event_id > \(count)")
        #expect(fresh == ["\(traffic.received)"])
        #expect(try await database.lines("SELECT count(*) || '|' || max(run) FROM appstore.outcome_history") == ["\(count)|1"])
        // A fresh event does not queue behind the repair: at most the events of one step come before it.
        let overtaken = try await database.lines(
            """
            WITH marks AS (
                SELECT settled_at AS at, 1 AS repaired, NULL::bigint AS fresh FROM appstore.outcomes WHERE event_id <= \(count)
                UNION ALL SELECT received_at, 0, event_id FROM appstore.outcomes WHERE event_id > \(count)
                UNION ALL SELECT settled_at, 0, event_id FROM appstore.outcomes WHERE event_id > \(count)
            ), sums AS (
                SELECT fresh, sum(repaired) OVER (ORDER BY at, repaired) AS repaired FROM marks
            ), spans AS (
                SELECT max(repaired) - min(repaired) AS overtaken FROM sums WHERE fresh IS NOT NULL GROUP BY fresh
            )
            SELECT max(overtaken)::text FROM spans
            """
        )
        #expect(try #require(Int(overtaken.first ?? "")) <= 1100)
        let account = try await database.lines(
            """
            SELECT format('%s events were requeued in %s s; of %s fresh ones half were settled after %s ms, 99 %% after %s ms, all after %s ms',
                          r.events, round(extract(epoch FROM r.time)), count(*),
                          round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY f.seconds)),
                          round(1000 * percentile_cont(0.99) WITHIN GROUP (ORDER BY f.seconds)), round(1000 * max(f.seconds)))
            FROM (SELECT count(*) AS events, max(replaced_at) - min(replaced_at) AS time FROM appstore.outcome_history) AS r
            CROSS JOIN (SELECT extract(epoch FROM settled_at - received_at)::float8 AS seconds
                        FROM appstore.outcomes WHERE event_id > \(count)) AS f
            GROUP BY r.events, r.time
            """
        )
        print(account.joined())
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    @Test(.timeLimit(.minutes(5)))
    func `a shutdown cancels a step that may take an hour`() async throws {
        let database = try await InboxDatabase.make()
        // Another session is in the way of the first step. The next one has no statement_timeout.
        try await MaintenanceBench.execute(
            """
            CREATE OR REPLACE FUNCTION appstore.prepare_partitions() RETURNS text LANGUAGE plpgsql AS $$
            BEGIN
                IF current_setting('statement_timeout') <> '0' THEN
                    RAISE 'in the way' USING ERRCODE = 'lock_not_available';
                END IF;
                PERFORM pg_sleep(3600);
                RETURN NULL;
            END
            $$
            """,
            in: database
        )
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let service = MaintenanceService(pool: pool, logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            let sleeps: Statement = """
                SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
                """
            try await database.withConnection { connection in
                while try await !connection.query(sleeps)[0].decode(0, as: Bool.self) { try await Task.sleep(for: .milliseconds(50)) }
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
    }

    /// Fresh events, as long as they come.
    private final class Traffic: Sendable {
        private struct State {
            var isOver = false
            var received = 0
        }

        private let state = Mutex(State())

        var isOver: Bool { state.withLock(\.isOver) }
        var received: Int { state.withLock(\.received) }

        func count() { state.withLock { $0.received += 1 } }
        func end() { state.withLock { $0.isOver = true } }
    }

    /// A hundred a second, whatever becomes of those before.
    private func receive(bodyBytes: Int, in database: TestDatabase, _ traffic: Traffic) async throws {
        let body = [UInt8](repeating: 1, count: bodyBytes)
        try await database.withConnection(user: "appstore_ingest") { connection in
            var due = ContinuousClock.now
            while !traffic.isOver {
                _ = try await connection.execute("SELECT appstore.receive(\([body]))")
                traffic.count()
                due += .milliseconds(10)
                try await Task.sleep(until: due)
            }
        }
    }

    /// Takes batches for as long as events come, and then until none is left.
    private func work(_ queue: EventQueue<ClaimedEvent>, _ traffic: Traffic) async throws {
        while true {
            let mayEnd = traffic.isOver
            guard try await queue.takeBatch().events == 0 else { continue }
            if mayEnd { return }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Begins a repair as an operator does in psql, and takes its steps as a worker does.
    private func requeue(in database: TestDatabase) async throws {
        _ = try await RepairBench.count("requeue(result => 'failed', max_events => 1000000000)", in: database)
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let service = RepairService(pool: pool, logger: .silent)
        while let pause = try await service.step() { try await Task.sleep(for: pause) }
        await pool.close()
    }

    /// Waits until all of these events have run again.
    private func awaitRepair(of count: Int, in database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(60 + count / 200)
        let isDone: Statement = """
            SELECT count(*) = \(count) FROM appstore.outcomes WHERE event_id <= \(count) AND run = 2
            """
        try await database.withConnection { connection in
            while try await connection.query(isDone)[0].decode(0, as: Bool.self) == false {
                try #require(ContinuousClock.now < deadline, "not all is requeued and settled")
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}
