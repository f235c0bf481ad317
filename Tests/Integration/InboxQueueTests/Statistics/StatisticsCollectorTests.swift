import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import Testing

@testable import InboxQueue

struct StatisticsCollectorTests {
    @Test func `the latest numbers are there after the first answer, and gone while the database cannot be asked`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let collector = StatisticsCollector<InboxStatistics>(pool: pool, logger: .silent)
        #expect(collector.latest == nil)
        let begin = Date.now.timeIntervalSince1970
        #expect(await collector.collect())
        let reading = try #require(collector.latest)
        #expect(reading.numbers.ready == 0)
        #expect((begin...Date.now.timeIntervalSince1970).contains(reading.time))
        #expect(collector.latest?.time == reading.time, "the time of the reading, not of the question")
        await pool.close()
        #expect(await !collector.collect())
        #expect(collector.latest == nil)
    }

    @Test func `an outage is told once, when it begins and when it ends, also one that was there at the start`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let log = CapturedLog()
        let collector = StatisticsCollector<InboxStatistics>(pool: pool, logger: log.logger)
        let outage = ["warning statistics cannot be read", "debug statistics cannot be read"]
        try await setReadable(false, in: database)
        for _ in 0..<2 { #expect(await !collector.collect()) }
        #expect(said(log) == outage)
        try await setReadable(true, in: database)
        for _ in 0..<2 { #expect(await collector.collect()) }
        #expect(said(log) == outage + ["notice statistics can be read again"])
        try await setReadable(false, in: database)
        #expect(await !collector.collect())
        #expect(said(log).last == outage[0])
        await pool.close()
    }

    /// Level and message of each line.
    private func said(_ log: CapturedLog) -> [String] {
        log.text.split(separator: "\n").map { $0.prefix { $0 != "[" }.split(separator: " ").joined(separator: " ") }
    }

    private func setReadable(_ isReadable: Bool, in database: TestDatabase) async throws {
        let (verb, end) = isReadable ? ("GRANT", "TO") : ("REVOKE", "FROM")
        try await database.withConnection { connection in
            try await connection.runScript("\(verb) EXECUTE ON FUNCTION appstore.inbox_statistics() \(end) appstore_worker")
        }
    }

    @Test func `it asks again and again, until graceful shutdown`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let collector = StatisticsCollector<InboxStatistics>(pool: pool, interval: .milliseconds(1), logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [.init(service: collector)], logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            while collector.latest == nil { await Task.yield() }
            try await database.withConnection(user: "appstore_ingest") { connection in
                _ = try await connection.execute("SELECT appstore.receive(\([[UInt8]]([[1], [2]])))")
            }
            while collector.latest?.numbers.ready != 2 { await Task.yield() }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
    }
}
