package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

/// Reads the inbox's statistics from the database at intervals, so that scraping metrics or readiness runs no SQL.
package final class StatisticsCollector: Service {
    /// What an answer has told, and when it came.
    private struct Reading {
        let statistics: InboxStatistics
        let instant: ContinuousClock.Instant
    }

    private struct State {
        var reading: Reading?
        /// Whether the last question had no answer.
        var isFailing = false
    }

    private let pool: ConnectionPool
    private let interval: Duration
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - pool: has a connection to spare for this.
    ///   - interval: between two questions, as long as the answer comes quickly.
    package init(pool: ConnectionPool, interval: Duration = .seconds(15), logger: Logger) {
        self.pool = pool
        self.interval = interval
        self.logger = logger
    }

    /// The latest numbers; nil before the first and while the database cannot be asked.
    package var latest: InboxStatistics? { state.withLock { $0.reading?.statistics } }

    /// Since the answer with the latest numbers came; nil while there are none.
    package var age: Duration? { state.withLock(\.reading).map { .now - $0.instant } }

    /// Asks until graceful shutdown.
    package func run() async throws {
        var pace = StatisticsPace(interval: interval)
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let start = ContinuousClock.now
            let isAnswered = await collect()
            var generator = SystemRandomNumberGenerator()
            await rest(pace.rest(after: .now - start, isAnswered: isAnswered, using: &generator))
        }
    }

    /// Asks once; false when no answer came.
    func collect() async -> Bool {
        do {
            let rows = try await pool.withConnection { try await $0.query(InboxStatistics.statement) }
            guard let statistics = try rows.first.map({ try InboxStatistics($0) }) else { return failed("no row came") }
            let wasFailing = state.withLock { state in
                defer { state = State(reading: Reading(statistics: statistics, instant: .now)) }
                return state.isFailing
            }
            if wasFailing { logger.notice("the inbox's numbers can be read again") }
            return true
        } catch {
            return failed("\(error)")
        }
    }

    private func failed(_ reason: String) -> Bool {
        let wasFailing = state.withLock { state in
            // Numbers of another time would hide the outage.
            defer { state = State(reading: nil, isFailing: true) }
            return state.isFailing
        }
        // Said once, not for each attempt.
        logger.log(level: wasFailing ? .debug : .warning, "the inbox's numbers cannot be read", metadata: ["error": "\(reason)"])
        return false
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
