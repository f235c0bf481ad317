package import Logging
package import Postgres
import SQL
import ServiceLifecycle

/// Takes the steps of repairs, one after the other, until the process ends. Several processes share the work.
package struct RepairRunner: Service {
    private let pool: ConnectionPool
    private let database: DatabaseUse

    /// The longest pause, while no repair is running.
    private static let pause = Duration.seconds(1)

    /// - Parameter pool: connections as a role that may repair.
    package init(pool: ConnectionPool, logger: Logger) {
        self.pool = pool
        database = DatabaseUse(by: "repairs", logger: logger)
    }

    package func run() async throws {
        // Stopping waits for no step.
        await cancelWhenGracefulShutdown {
            await database.takeSteps(backingOff: Backoff(base: .seconds(1), cap: .seconds(5), jitter: 0.5)) {
                min(try await step().map { .seconds($0) } ?? Self.pause, Self.pause)
            }
        }
    }

    /// Takes the step that is due. Returns in how many seconds the next one is; nil while no repair is running.
    package func step() async throws -> Double? {
        try await pool.withTransaction { transaction in
            // The role's own limit is that of a page.
            try await transaction.execute("SET LOCAL statement_timeout = '60s'")
            return try await transaction.query(.consoleTakeRepairStep()).first?.decode("pause", as: Double?.self) ?? nil
        }
    }
}
