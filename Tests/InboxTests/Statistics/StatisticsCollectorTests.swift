import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

@testable import Inbox

struct StatisticsCollectorTests {
    @Test func `the latest numbers are there after the first answer, and gone while the database cannot be asked`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let collector = StatisticsCollector(pool: pool, logger: .silent)
        #expect(collector.latest == nil)
        #expect(await collector.collect())
        #expect(collector.latest?.ready == 0)
        await pool.close()
        #expect(await !collector.collect())
        #expect(collector.latest == nil)
    }

    @Test func `it asks again and again, until graceful shutdown`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let collector = StatisticsCollector(pool: pool, interval: .milliseconds(1), logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [.init(service: collector)], logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            while collector.latest == nil { await Task.yield() }
            try await database.withConnection(user: "appstore_ingest") { connection in
                _ = try await connection.execute("SELECT appstore.receive(\([[UInt8]]([[1], [2]])))")
            }
            while collector.latest?.ready != 2 { await Task.yield() }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
    }
}
