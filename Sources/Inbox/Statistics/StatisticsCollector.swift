package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

/// Asks the database for the inbox's numbers every now and then, so that whoever looks at metrics or readiness, however often, costs it
/// nothing.
package final class StatisticsCollector: Service {
    private let pool: ConnectionPool
    private let interval: Duration
    private let logger: Logger
    private let current = Mutex<InboxStatistics?>(nil)

    /// The question never takes more than one part in this many of the time: dead rows that vacuum cannot remove make it slow.
    private static let shareOfTime = 50
    private static let longestRest: Duration = .seconds(300)

    /// - Parameters:
    ///   - pool: has a connection to spare for this.
    ///   - interval: between two questions, as long as the answer comes quickly.
    package init(pool: ConnectionPool, interval: Duration = .seconds(15), logger: Logger) {
        self.pool = pool
        self.interval = interval
        self.logger = logger
    }

    /// The latest numbers; nil before the first and while the database cannot be asked.
    package var latest: InboxStatistics? { current.withLock(\.self) }

    /// Asks until graceful shutdown.
    package func run() async throws {
        var outage = Backoff(base: .milliseconds(500), cap: .seconds(5))
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let start = ContinuousClock.now
            let isAnswered = await collect()
            var generator = SystemRandomNumberGenerator()
            let shortest = isAnswered ? interval : outage.next(using: &generator)
            if isAnswered { outage.reset() }
            await rest(min(max(shortest, (.now - start) * Self.shareOfTime), Self.longestRest))
        }
    }

    /// Asks once; false when no answer came.
    func collect() async -> Bool {
        do {
            let rows = try await pool.withConnection { try await $0.query(InboxStatistics.statement) }
            let statistics = try rows.first.map { try InboxStatistics($0) }
            current.withLock { $0 = statistics }
            return statistics != nil
        } catch {
            // Numbers of another time would hide the outage.
            let was = current.withLock { current in
                defer { current = nil }
                return current
            }
            logger.log(level: was == nil ? .debug : .warning, "the inbox's numbers cannot be read", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func rest(_ duration: Duration) async {
        await cancelWhenGracefulShutdown {
            do {
                try await Task.sleep(for: duration)
            } catch {
                // Cut short by the shutdown, which the loop looks at next.
            }
        }
    }
}
