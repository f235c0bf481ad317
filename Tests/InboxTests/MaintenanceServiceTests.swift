import Foundation
import Inbox
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

/// The loop that takes the steps, while events come and go.
struct MaintenanceServiceTests {
    /// `REPAIR_EVENTS`: how many are requeued; a million take some minutes.
    @Test func `thousands of events are requeued by two workers, while fresh ones are settled at once`() async throws {
        let count = ProcessInfo.processInfo.environment["REPAIR_EVENTS"].flatMap { Int($0) } ?? 5000
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(count, result: "failed", in: database)
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
                let deadline = ContinuousClock.now + .seconds(60 + count / 500)
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
        #expect(try await database.lines("SELECT count(*) || '|' || max(run) FROM appstore.outcome_history") == ["\(count)|1"])
        #expect(try await database.lines("SELECT events_repaired::text FROM appstore.repairs") == ["\(count)"])
        // A fresh event does not queue behind the repair: before it come at most the events of one step, never all of them.
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
                          r.events_repaired, round(extract(epoch FROM r.finished_at - r.started_at)), count(*),
                          round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY f.seconds)),
                          round(1000 * percentile_cont(0.99) WITHIN GROUP (ORDER BY f.seconds)), round(1000 * max(f.seconds)))
            FROM appstore.repairs AS r
            CROSS JOIN (SELECT extract(epoch FROM settled_at - received_at)::float8 AS seconds
                        FROM appstore.outcomes WHERE event_id > \(count)) AS f
            GROUP BY r.repair_id
            """
        )
        print(account.joined())
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }
}
