package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

/// Reads the outbox's statistics from the database at intervals, so that scraping metrics runs no SQL.
package final class OutboxCollector: Service {
    private let pool: ConnectionPool
    private let interval: Duration
    private let logger: Logger
    private let statistics = Mutex<OutboxStatistics?>(nil)
    private let outage = EdgeTrigger()

    /// - Parameter pool: must have a spare connection.
    package init(pool: ConnectionPool, interval: Duration = .seconds(15), logger: Logger) {
        self.pool = pool
        self.interval = interval
        self.logger = logger
    }

    /// The latest statistics; nil before the first and while they cannot be read, because old ones would hide the outage.
    package var latest: OutboxStatistics? { statistics.withLock(\.self) }

    /// Collects until graceful shutdown.
    package func run() async throws {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            await collect()
            // Workers that start together must not query together.
            let rest = interval * Double.random(in: 0.8...1.2)
            await cancelWhenGracefulShutdown {
                do {
                    try await Task.sleep(for: rest)
                } catch {
                    // The shutdown ends the pause; the loop checks for it next.
                }
            }
        }
    }

    func collect() async {
        do {
            let rows = try await pool.withConnection { try await $0.query(OutboxStatistics.statement) }
            let current = try rows.first.map { try OutboxStatistics($0) }
            statistics.withLock { $0 = current }
            if outage.ended() { logger.notice("the outbox's statistics can be read again") }
        } catch {
            statistics.withLock { $0 = nil }
            logger.log(
                level: outage.began() ? .warning : .debug,
                "the outbox's statistics cannot be read",
                metadata: [LogKey.error: "\(error)"]
            )
        }
    }
}
