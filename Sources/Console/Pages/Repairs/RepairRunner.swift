package import Logging
package import Postgres
import SQL
import ServiceLifecycle

/// Takes the steps of repairs, one after the other, until the process ends. Several processes share the work.
package struct RepairRunner: Service {
    private let pool: ConnectionPool
    private let logger: Logger

    /// The longest pause, while no repair is running.
    private static let pause = Duration.seconds(1)
    /// The pause after a failure.
    private static let failurePause = Duration.seconds(5)

    /// - Parameter pool: connections as a role that may repair.
    package init(pool: ConnectionPool, logger: Logger) {
        (self.pool, self.logger) = (pool, logger)
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                var wait = Self.pause
                do {
                    wait = min(try await step().map { .seconds($0) } ?? Self.pause, Self.pause)
                } catch {
                    // The watch of the database reports an outage, and another schema.
                    let isRefusal = error is PostgresError && !error.isDatabaseOutage
                    logger.log(level: isRefusal ? .error : .debug, "the step of a repair failed", metadata: ["error": "\(error)"])
                    wait = Self.failurePause
                }
                do { try await Task.sleep(for: wait) } catch { return }
            }
        }
    }

    /// Takes the step that is due. Returns in how many seconds the next one is; nil while no repair is running.
    package func step() async throws -> Double? {
        try await pool.withTransaction { transaction in
            // The role's own limit is that of a page.
            try await transaction.execute("SET LOCAL statement_timeout = '60s'")
            return try await transaction.query(Statement(.consoleTakeRepairStep)).first?.decode("pause", as: Double?.self) ?? nil
        }
    }
}
