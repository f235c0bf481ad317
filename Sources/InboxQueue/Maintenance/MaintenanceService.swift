package import Logging
package import Metrics
package import Postgres
import SQL
import ServiceLifecycle
import ServiceSupport

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

/// Which task is next, and when: soon while it has work, and at longer and longer intervals while it has none.
struct MaintenanceSchedule {
    /// How a step ended.
    enum Ending {
        case moreToDo
        case nothingToDo
        /// Another transaction holds a lock that it needs.
        case inTheWay
    }

    private struct Entry {
        var next: ContinuousClock.Instant
        var rest: Backoff
        /// A lock may be held for hours, and an attempt may keep others waiting for a moment.
        var blockade: Backoff
    }

    private var entries: [MaintenanceTask: Entry]

    /// Begins each task at a random moment of its first rest, so that workers that start together do not take their steps together.
    init(now: ContinuousClock.Instant, using generator: inout some RandomNumberGenerator) {
        entries = [:]
        for task in MaintenanceTask.allCases {
            let rest = min(task.longestRest, .seconds(5))
            entries[task] = Entry(
                next: now + rest * Double.random(in: 0...1, using: &generator),
                rest: Backoff(base: MaintenanceTask.pause * 2, cap: task.longestRest, jitter: 0.5),
                blockade: Backoff(base: .seconds(5), cap: max(task.longestRest, .seconds(5)), jitter: 0.5)
            )
        }
    }

    /// The task that is due first, and when.
    var next: (task: MaintenanceTask, at: ContinuousClock.Instant) {
        let first = entries.min { ($0.value.next, $0.key.rawValue) < ($1.value.next, $1.key.rawValue) }
        return first.map { ($0.key, $0.value.next) } ?? (.preparePartitions, .now)
    }

    /// Sets when a task comes again. Half of a rest is random.
    mutating func ended(
        _ task: MaintenanceTask,
        _ ending: Ending,
        at now: ContinuousClock.Instant,
        using generator: inout some RandomNumberGenerator
    ) {
        guard var entry = entries[task] else { return }
        switch ending {
        case .moreToDo:
            entry.rest.reset()
            entry.blockade.reset()
            entry.next = now + MaintenanceTask.pause
        case .nothingToDo:
            entry.blockade.reset()
            entry.next = now + entry.rest.next(using: &generator)
        case .inTheWay:
            entry.next = now + entry.blockade.next(using: &generator)
        }
        entries[task] = entry
    }
}

/// What maintenance counts, by task.
private struct MaintenanceMetrics: Sendable {
    private let steps: [MaintenanceTask: Counter]
    private let rows: [MaintenanceTask: Counter]
    private let failures: [MaintenanceTask: Counter]

    init(factory: any MetricsFactory) {
        steps = Self.counters("appstore_inbox_maintenance_steps_total", factory)
        rows = Self.counters("appstore_inbox_maintenance_rows_total", factory)
        failures = Self.counters("appstore_inbox_maintenance_failures_total", factory)
    }

    func record(_ step: MaintenanceTask.Step, of task: MaintenanceTask) {
        steps[task]?.increment()
        rows[task]?.increment(by: step.rows)
    }

    func recordFailure(of task: MaintenanceTask) {
        failures[task]?.increment()
    }

    private static func counters(_ label: String, _ factory: any MetricsFactory) -> [MaintenanceTask: Counter] {
        let tasks = MaintenanceTask.allCases
        return Dictionary(
            uniqueKeysWithValues: tasks.map { ($0, Counter(label: label, dimensions: [("task", $0.rawValue)], factory: factory)) }
        )
    }
}

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
