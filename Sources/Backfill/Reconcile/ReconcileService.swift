package import AppStore
package import Logging
package import Outbox
package import Postgres
import SQL
import ServiceLifecycle
package import ServiceSupport

/// Asks Apple about contracts that look stale, of the apps that have a key here: finds them in the database and writes calls for the outbox.
///
/// Any number of processes may run it; the database lets one at a time take a step.
package struct ReconcileService: Service {
    package struct Configuration: Sendable {
        /// The environments that are reconciled.
        package var environments: Set<AppStoreEnvironment> = [.production]
        /// How many active contracts of each app are asked about a day, at random.
        package var sample = 100
        /// The pause between two steps.
        package var pause: Duration = .seconds(300)
        /// The pause when there may be more contracts to look at.
        package var shortPause: Duration = .seconds(1)
        /// The pauses while the database is unavailable.
        package var outage = Backoff(base: .milliseconds(200), cap: .seconds(5))

        package init() {}
    }

    private let pool: ConnectionPool
    private let configuration: Configuration
    private let lanes: @Sendable () -> Set<CallLane>
    private let logger: Logger
    private let heartbeat: @Sendable () -> LoopHeartbeat
    private let database: DatabaseUse

    /// - Parameters:
    ///   - lanes: the apps and environments that have a key here, asked for before each step.
    ///   - heartbeat: begins the heartbeat of the loop.
    package init(
        pool: ConnectionPool,
        configuration: Configuration = Configuration(),
        lanes: @escaping @Sendable () -> Set<CallLane>,
        logger: Logger,
        heartbeat: @escaping @Sendable () -> LoopHeartbeat = { .none }
    ) {
        self.pool = pool
        self.configuration = configuration
        self.lanes = lanes
        self.logger = logger
        database = DatabaseUse(by: "the reconciliation", logger: logger)
        self.heartbeat = heartbeat
    }

    /// Runs until graceful shutdown.
    package func run() async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        var nextStepAt = ContinuousClock.now
        await database.takeSteps(backingOff: configuration.outage) {
            heartbeat.beat()
            if .now >= nextStepAt {
                let hasMore = try await step()
                nextStepAt = .now + (hasMore ? configuration.shortPause : configuration.pause)
            }
            // Short rests, so that the heartbeat goes on.
            return max(.zero, min(nextStepAt - .now, .seconds(30)))
        }
    }

    /// Takes one step. Returns whether there may be more contracts to look at.
    func step() async throws -> Bool {
        let lanes = lanes().filter { configuration.environments.contains($0.environment) }.sorted()
        guard !lanes.isEmpty else { return false }
        let statement = Statement.reconcile(
            bundleIDs: lanes.map(\.bundleID),
            environments: lanes.map(\.environment.rawValue),
            sample: Int32(clamping: configuration.sample)
        )
        let row = try await pool.query(statement)[0]
        let (asked, settled) = (try row.decode("asked", as: Int32?.self) ?? 0, try row.decode("settled", as: Int32?.self) ?? 0)
        if asked + settled > 0 {
            logger.info(
                "asked about contracts that look stale",
                metadata: [LogKey.asked: "\(asked)", LogKey.settled: "\(settled)"]
            )
        }
        return try row.decode("has_more", as: Bool?.self) ?? false
    }
}

/// The keys of what this module logs.
private enum LogKey {
    static let asked = "reconcile.asked"
    static let settled = "reconcile.settled"
}

/// What the reconciliation has asked and found, of all workers.
package struct ReconcileStatistics: Hashable, Statistics {
    package struct Rule: Hashable, Sendable {
        package let name: String
        package let questions: Int64
        /// Those whose answer changed the ledger.
        package let changed: Int64
    }

    /// Every rule, also those that have asked nothing.
    package let rules: [Rule]
    /// The share of the sample of the last 30 days that was wrong; nil without an answer.
    package let wrongRatio: Double?

    /// For the role worker.
    package static let statement = Statement.reconcileStatistics()

    package init(_ row: Row) throws {
        let names: [String] = try row.decode("rules")
        let questions: [Int64] = try row.decode("questions")
        let changed: [Int64] = try row.decode("changed")
        rules = names.indices.map { Rule(name: names[$0], questions: questions[$0], changed: changed[$0]) }
        wrongRatio = try row.decode("wrong_ratio")
    }
}
