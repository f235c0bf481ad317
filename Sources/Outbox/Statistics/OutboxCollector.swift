package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

/// Asks the database for the outbox's numbers every now and then, so that whoever looks at metrics, however often, costs it nothing.
package final class OutboxCollector: Service {
    private let pool: ConnectionPool
    private let interval: Duration
    private let logger: Logger
    private let reading = Mutex<OutboxStatistics?>(nil)
    private let outage = OutageNotice()

    /// - Parameter pool: has a connection to spare for this.
    package init(pool: ConnectionPool, interval: Duration = .seconds(15), logger: Logger) {
        self.pool = pool
        self.interval = interval
        self.logger = logger
    }

    /// The latest numbers; nil before the first and while the database cannot be asked: numbers of another time would hide the outage.
    package var latest: OutboxStatistics? { reading.withLock(\.self) }

    /// Asks until graceful shutdown.
    package func run() async throws {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            await collect()
            // Workers that start together are not to come together.
            let rest = interval * Double.random(in: 0.8...1.2)
            await cancelWhenGracefulShutdown {
                do {
                    try await Task.sleep(for: rest)
                } catch {
                    // Cut short by the shutdown, which the loop looks at next.
                }
            }
        }
    }

    /// Asks once.
    func collect() async {
        do {
            let rows = try await pool.withConnection { try await $0.query(OutboxStatistics.statement) }
            let statistics = try rows.first.map { try OutboxStatistics($0) }
            reading.withLock { $0 = statistics }
            if outage.ended() { logger.notice("the outbox's numbers can be read again") }
        } catch {
            reading.withLock { $0 = nil }
            logger.log(
                level: outage.began() ? .warning : .debug,
                "the outbox's numbers cannot be read",
                metadata: [LogKey.error: "\(error)"]
            )
        }
    }
}
