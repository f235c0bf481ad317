import InboxTesting
import Logging
import Postgres
import PostgresTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import InboxQueue

struct StatisticsCollectorTests {
    @Test func `the latest numbers are there after the first answer, and gone while the database cannot be asked`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let collector = StatisticsCollector(pool: pool, logger: .silent)
        #expect(collector.latest == nil && collector.age == nil)
        #expect(await collector.collect())
        #expect(collector.latest?.ready == 0)
        let age = try #require(collector.age)
        #expect(age < .seconds(60))
        #expect(try #require(collector.age) > age)
        await pool.close()
        #expect(await !collector.collect())
        #expect(collector.latest == nil && collector.age == nil)
    }

    @Test func `an outage is told once, when it begins and when it ends, also one that was there at the start`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let log = SaidLines()
        let collector = StatisticsCollector(pool: pool, logger: log.logger)
        let outage = ["warning the inbox's numbers cannot be read", "debug the inbox's numbers cannot be read"]
        try await setReadable(false, in: database)
        for _ in 0..<2 { #expect(await !collector.collect()) }
        #expect(log.all == outage)
        try await setReadable(true, in: database)
        for _ in 0..<2 { #expect(await collector.collect()) }
        #expect(log.all == outage + ["notice the inbox's numbers can be read again"])
        try await setReadable(false, in: database)
        #expect(await !collector.collect())
        #expect(log.all.last == outage[0])
        await pool.close()
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

/// What was logged, level and message.
private final class SaidLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock(\.self) }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(said: self) }
        logger.logLevel = .debug
        return logger
    }

    private struct Handler: LogHandler {
        let said: SaidLines
        var logLevel = Logger.Level.debug
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            said.lines.withLock { $0.append("\(event.level) \(event.message)") }
        }
    }
}
