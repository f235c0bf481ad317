package import Logging
package import Metrics
package import Postgres
import ServiceLifecycle

/// Runs the maintenance tasks beside the live path: one task after the other, on one connection of the pool. Any number of workers may run
/// it; locks in PostgreSQL let one of them take a step at a time, and one each of the tasks with a deadline.
package struct MaintenanceService: Service {
    private let pool: ConnectionPool
    private let logger: Logger
    private let metrics: MaintenanceMetrics

    package init(pool: ConnectionPool, logger: Logger, metrics: any MetricsFactory = MetricsSystem.factory) {
        self.pool = pool
        self.logger = logger
        self.metrics = MaintenanceMetrics(factory: metrics)
    }

    /// Runs until graceful shutdown, then ends after the step in flight, or cancels it if it may take an hour.
    package func run() async throws {
        let clock = ContinuousClock()
        var generator = SystemRandomNumberGenerator()
        var schedule = MaintenanceSchedule(now: clock.now, using: &generator)
        var failures: [MaintenanceTask: Failures] = [:]
        while !Task.isEnding {
            let (task, instant) = schedule.next
            if instant > clock.now {
                await Task.rest(for: instant - clock.now)
                continue
            }
            let ending = await step(task, &failures[task, default: Failures()])
            schedule.ended(task, ending, at: clock.now, using: &generator)
        }
    }

    private func step(_ task: MaintenanceTask, _ failures: inout Failures) async -> MaintenanceSchedule.Ending {
        do {
            let step = try await take(task, after: failures.count)
            if failures.isReported { logger.notice("maintenance goes on", metadata: metadata(task)) }
            failures = Failures()
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
            failures.count += 1
            logger.debug("maintenance waits for others", metadata: metadata(task))
            return .inTheWay
        } catch is CancellationError where Task.isEnding {
            return .nothingToDo
        } catch {
            failures.count += 1
            metrics.recordFailure(of: task)
            // A warning for the first failure only.
            let isNews = !error.isDatabaseOutage && !failures.isReported
            failures.isReported = failures.isReported || isNews
            logger.log(
                level: isNews ? .warning : .debug,
                "maintenance step failed and will be tried again",
                metadata: metadata(task).merging(["error": "\(error)"]) { $1 }
            )
            return .inTheWay
        }
    }

    /// Takes a step. One that has failed gets more time: for the lock of a table, up to two seconds, and for what it reads, up to an hour.
    private func take(_ task: MaintenanceTask, after failures: Int) async throws -> MaintenanceTask.Step? {
        guard failures > 0, task.locksTables else { return try await pool.withConnection { try await task.step(on: $0) } }
        let lockTimeout = min(MaintenanceTask.lockTimeout * (1 << min(failures, 5)), .seconds(2))
        let side = pool.side(timeout: .seconds(3600))
        do {
            let step = try await cancelWhenGracefulShutdown {
                try await side.withConnection { try await task.step(on: $0, lockTimeout: lockTimeout) }
            }
            await side.close()
            return step
        } catch {
            await side.close()
            throw error
        }
    }

    private func metadata(_ task: MaintenanceTask) -> Logger.Metadata {
        ["maintenance.task": "\(task.rawValue)"]
    }

    /// The failures of a task since its last success.
    private struct Failures {
        var count = 0
        var isReported = false
    }
}
