package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle

/// Runs the maintenance tasks beside the live path: one task after the other, on one connection of the pool. Any number of workers may run
/// it; a lock in PostgreSQL lets one of them take a step at a time.
package struct MaintenanceService: Service {
    private let pool: ConnectionPool
    private let logger: Logger
    private let metrics: MaintenanceMetrics

    package init(pool: ConnectionPool, logger: Logger, metrics: any MetricsFactory = MetricsSystem.factory) {
        self.pool = pool
        self.logger = logger
        self.metrics = MaintenanceMetrics(factory: metrics)
    }

    /// Runs until graceful shutdown, then ends after the step in flight.
    package func run() async throws {
        let clock = ContinuousClock()
        var generator = SystemRandomNumberGenerator()
        var schedule = MaintenanceSchedule(now: clock.now, using: &generator)
        var failing: Set<MaintenanceTask> = []
        while !Task.isEnding {
            let (task, instant) = schedule.next
            if instant > clock.now {
                await Task.rest(for: instant - clock.now)
                continue
            }
            let ending = await step(task, &failing)
            schedule.ended(task, ending, at: clock.now, using: &generator)
        }
    }

    private func step(_ task: MaintenanceTask, _ failing: inout Set<MaintenanceTask>) async -> MaintenanceSchedule.Ending {
        do {
            let step = try await pool.withConnection { try await task.step(on: $0) }
            if failing.remove(task) != nil { logger.notice("maintenance goes on", metadata: metadata(task)) }
            guard let step else { return .nothingToDo }
            metrics.record(step, of: task)
            logger.log(
                level: task == .preparePartitions || step.did.hasPrefix("detached") ? .notice : .debug,
                "maintenance step",
                metadata: metadata(task).merging(["maintenance.did": "\(step.did)", "maintenance.rows": "\(step.rows)"]) { $1 }
            )
            return step.hasMore ? .moreToDo : .nothingToDo
        } catch let error as PostgresError where error.isSerializationConflict {
            // The live path has priority. The step has changed nothing.
            logger.debug("maintenance waits for others", metadata: metadata(task))
            return .inTheWay
        } catch is CancellationError where Task.isCancelled {
            return .nothingToDo
        } catch {
            metrics.recordFailure(of: task)
            // A warning for the first failure only.
            logger.log(
                level: !error.isDatabaseOutage && failing.insert(task).inserted ? .warning : .debug,
                "maintenance step failed and will be tried again",
                metadata: metadata(task).merging(["error": "\(error)"]) { $1 }
            )
            return .inTheWay
        }
    }

    private func metadata(_ task: MaintenanceTask) -> Logger.Metadata {
        ["maintenance.task": "\(task.rawValue)"]
    }
}
