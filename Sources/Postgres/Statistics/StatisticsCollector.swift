import FoundationEssentials
package import Logging
import ServiceLifecycle
import ServiceSupport
import Synchronization

/// Numbers that one statement reads as one row.
package protocol Statistics: Sendable {
    /// The statement, whose name is that of the numbers in the log.
    static var statement: Statement { get }

    init(_ row: Row) throws
}

/// Reads statistics from the database at intervals, so that scraping metrics or readiness runs no SQL.
package final class StatisticsCollector<Numbers: Statistics>: Service {
    /// Numbers, and when they were read.
    package struct Reading: Sendable {
        package let numbers: Numbers
        /// Seconds since 1970.
        package let time: Double
    }

    private let pool: ConnectionPool
    private let interval: Duration
    private let logger: Logger
    private let reading = Mutex<Reading?>(nil)
    private let failing = EdgeTrigger()

    /// - Parameters:
    ///   - pool: must have a spare connection.
    ///   - interval: between two queries, as long as the answer comes quickly.
    package init(pool: ConnectionPool, interval: Duration = .seconds(15), logger: Logger) {
        self.pool = pool
        self.interval = interval
        self.logger = logger
    }

    /// The latest numbers; nil before the first and while they cannot be read, because old ones would hide the outage.
    package var latest: Reading? { reading.withLock(\.self) }

    /// Collects until graceful shutdown.
    package func run() async throws {
        var pace = StatisticsPace(interval: interval)
        while !Task.isEnding {
            let start = ContinuousClock.now
            let isAnswered = await collect()
            var generator = SystemRandomNumberGenerator()
            let rest = pace.rest(after: .now - start, isAnswered: isAnswered, using: &generator)
            // Workers that start together do not ask together.
            await Task.rest(for: rest * Double.random(in: 0.8...1.2, using: &generator))
        }
    }

    /// Reads the numbers once; false when they could not be read.
    @discardableResult
    package func collect() async -> Bool {
        let metadata: Logger.Metadata = [LogKey.statement: "\(Numbers.statement)"]
        do {
            guard let row = try await pool.query(Numbers.statement).first else { throw PostgresError(.decoding, "no row came") }
            let latest = Reading(numbers: try Numbers(row), time: Date.now.timeIntervalSince1970)
            reading.withLock { $0 = latest }
            if failing.ended() { logger.notice("statistics can be read again", metadata: metadata) }
            return true
        } catch {
            reading.withLock { $0 = nil }
            // The pool reports an outage.
            let level: Logger.Level = !error.isDatabaseOutage && failing.began() ? .warning : .debug
            logger.log(level: level, "statistics cannot be read", metadata: metadata.merging([LogKey.error: "\(error)"]) { $1 })
            return false
        }
    }
}

/// How long a collector waits between two queries.
struct StatisticsPace {
    let interval: Duration
    private var outage = Backoff(base: .milliseconds(500), cap: .seconds(5))

    /// A query that is answered takes one part in this many of the time at most: dead rows that vacuum cannot remove make it slow.
    private static var shareOfTime: Int { 50 }
    /// A greater share is better than numbers that are older.
    private static var longestRest: Duration { .seconds(60) }

    init(interval: Duration) {
        self.interval = interval
    }

    /// The pause after a query that took so long.
    ///
    /// One that failed is soon repeated: nothing is known until then. But the database may have worked on it in vain, so it takes no more than
    /// half of the time.
    mutating func rest(after elapsed: Duration, isAnswered: Bool, using generator: inout some RandomNumberGenerator) -> Duration {
        guard isAnswered else { return max(outage.next(using: &generator), min(elapsed, Self.longestRest)) }
        outage.reset()
        return max(interval, min(elapsed * Self.shareOfTime, Self.longestRest))
    }
}
