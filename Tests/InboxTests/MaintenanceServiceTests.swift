import Inbox
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

/// The loop that takes the steps, while events come and go.
struct MaintenanceServiceTests {
    @Test func `five thousand events are requeued by two workers, while fresh ones are settled at once`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(5000, result: "failed", in: database)
        _ = try await MaintenanceBench.asOperator(database, "SELECT appstore.requeue(outcome => 'failed', max_events => NULL)")
        let pool = try database.pool(user: "appstore_worker", connections: 4)
        let queue = InboxQueue<ClaimedEvent>(
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
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                let deadline = ContinuousClock.now + .seconds(60)
                var fresh = 0
                while ContinuousClock.now < deadline {
                    fresh += 1
                    try await database.withConnection(user: "appstore_ingest") { connection in
                        _ = try await connection.execute("SELECT appstore.receive(\([[UInt8]]([[1]])))")
                    }
                    while try await queue.takeBatch().events > 0 {}
                    let state = try await database.lines(
                        "SELECT state || (SELECT count(*) FROM appstore.inbox_ready) FROM appstore.repairs"
                    )
                    if state == ["done0"] { break }
                }
                await group.triggerGracefulShutdown()
            }
            try await tasks.waitForAll()
        }
        #expect(try await database.lines("SELECT count(*) || '|' || max(run) FROM appstore.outcome_history") == ["5000|1"])
        #expect(try await database.lines("SELECT events_repaired::text FROM appstore.repairs") == ["5000"])
        // A fresh event does not queue behind the repair: before it come at most the events of one step, never all of them.
        let overtaken = try await database.lines(
            """
            SELECT max((SELECT count(*) FROM appstore.outcomes AS o
                        WHERE o.event_id <= 5000 AND o.settled_at > f.received_at AND o.settled_at < f.settled_at))::text
            FROM appstore.outcomes AS f WHERE f.event_id > 5000
            """
        )
        #expect(try #require(Int(overtaken.first ?? "")) <= 1100)
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }
}
