package import Logging
package import Postgres
import SQL
import ServiceLifecycle

/// Takes the steps of the repairs that operators began, one after the other. Several processes share the work.
package struct RepairService: Service {
    private let pool: ConnectionPool
    private let database: DatabaseUse

    /// The longest pause: another process may begin a repair meanwhile.
    private static let pause = Duration.seconds(1)

    /// - Parameter pool: connections as a role that may take steps.
    package init(pool: ConnectionPool, logger: Logger) {
        self.pool = pool
        database = DatabaseUse(by: "repairs", logger: logger)
    }

    /// Runs until graceful shutdown, for which it cancels the step in flight: that has then done nothing.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await database.takeSteps(backingOff: Backoff(base: .seconds(1), cap: .seconds(5), jitter: 0.5)) {
                min(try await step() ?? Self.pause, Self.pause)
            }
        }
    }

    /// Takes the step that is due. Returns the pause before the next one; nil while no repair is running.
    package func step() async throws -> Duration? {
        try await pool.withConnection { connection in
            try await connection.query(.takeRepairStep()).first?.decode("pause", as: Double?.self).map { .seconds($0) }
        }
    }
}
