import AppStore
package import Logging
package import Outbox
package import Postgres
import SQL
import ServiceSupport
import Synchronization

/// The budget in the database, which all workers share. Takes up to a second's worth with one statement.
package final class SharedBudget: APIBudget {
    private struct Name: Hashable {
        let endpoint: ServerAPIEndpoint
        let lane: CallLane
        let urgency: ServerAPIClass
    }

    private let pool: ConnectionPool
    private let share: Double
    private let logger: Logger
    private let wallets = Mutex<[Name: BudgetWallet]>([:])
    private let outage = EdgeTrigger()

    /// - Parameter share: the part of Apple's documented rates that is used, above 0 and at most 1.
    package init(pool: ConnectionPool, share: Double = 0.8, logger: Logger) {
        self.pool = pool
        self.share = share
        self.logger = logger
    }

    package func take(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, _ urgency: ServerAPIClass) async -> BudgetDecision {
        let name = Name(endpoint: endpoint, lane: lane, urgency: urgency)
        let wanted: Int? = wallets.withLock { wallets in
            var wallet = wallets[name] ?? BudgetWallet()
            let now = ContinuousClock.now
            defer { wallets[name] = wallet }
            return wallet.spend(at: now) ? nil : wallet.wanted(at: now)
        }
        guard let wanted else { return .granted }
        do {
            let statement = Self.take(endpoint, lane, urgency, wanted: wanted, share: share)
            let row = try await pool.query(statement)[0]
            if outage.ended() { logger.notice("the budget of the App Store Server API can be used again") }
            let granted = Int(try row.decode("granted", as: Int32.self))
            guard granted > 0 else {
                return .wait(try row.decode("wait"), isBlocked: try row.decode("is_blocked"))
            }
            wallets.withLock { $0[name, default: BudgetWallet()].fill(granted, at: .now) }
            return .granted
        } catch {
            failed(error)
            return .unavailable
        }
    }

    package func block(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, for delay: Duration?) async {
        wallets.withLock { wallets in
            for name in wallets.keys where name.endpoint == endpoint && name.lane == lane { wallets[name]?.empty() }
        }
        do {
            _ = try await pool.query(Self.block(endpoint, lane, for: delay))
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: any Error) {
        if error is CancellationError, Task.isCancelled { return }
        let level: Logger.Level = outage.began() ? .warning : .debug
        logger.log(level: level, "the budget of the App Store Server API cannot be used", metadata: ["error": "\(error)"])
    }

    static func take(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, _ urgency: ServerAPIClass, wanted: Int, share: Double) -> Statement {
        .takeAPIBudget(
            bundleID: lane.bundleID,
            environment: lane.environment.rawValue,
            endpoint: endpoint.rawValue,
            setting: endpoint.documentedRate * share * (lane.environment == .sandbox ? 0.1 : 1),
            class: Int32(urgency.rawValue),
            wanted: Int32(clamping: wanted)
        )
    }

    static func block(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, for delay: Duration?) -> Statement {
        .blockAPIEndpoint(bundleID: lane.bundleID, environment: lane.environment.rawValue, endpoint: endpoint.rawValue, delay: delay)
    }
}

/// The requests of a class that this process has taken from a budget and not made. Pure: the time is passed in.
struct BudgetWallet: Sendable {
    /// How long taken requests can be made. What is left then is lost: it must not add to a later second.
    static let lifetime = Duration.seconds(1)

    private var left = 0
    private var takenAt: ContinuousClock.Instant?
    /// The requests taken last.
    private var size = 0

    /// Uses one request; false when there is none.
    mutating func spend(at now: ContinuousClock.Instant) -> Bool {
        guard left > 0, let takenAt, now - takenAt < Self.lifetime else { return false }
        left -= 1
        return true
    }

    /// How many to take now: twice as many as the last time while they are used up within their lifetime, else one.
    func wanted(at now: ContinuousClock.Instant) -> Int {
        guard let takenAt, now - takenAt < Self.lifetime else { return 1 }
        return min(max(1, size * 2), 50)
    }

    /// Adds what was granted, at least one, and uses one of it.
    mutating func fill(_ granted: Int, at now: ContinuousClock.Instant) {
        let rest = takenAt.map { now - $0 < Self.lifetime } == true ? left : 0
        (left, size, takenAt) = (rest + granted - 1, granted, now)
    }

    mutating func empty() { left = 0 }
}

/// What may be asked now. Apple's limits are for an app, an environment and an endpoint together.
package protocol APIBudget: Sendable {
    /// Takes one request.
    func take(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, _ urgency: ServerAPIClass) async -> BudgetDecision
    /// Records a 429.
    ///
    /// - Parameter delay: what Apple asks for; nil when it asks for nothing usable.
    func block(_ endpoint: ServerAPIEndpoint, _ lane: CallLane, for delay: Duration?) async
}

package enum BudgetDecision: Hashable, Sendable {
    case granted
    /// Another class may take what is left, or the bucket is empty, or a 429 blocks the endpoint.
    case wait(Duration, isBlocked: Bool)
    /// The database did not answer.
    case unavailable
}

/// For a command that asks a few times, and whose role may spend nothing.
package struct UnlimitedBudget: APIBudget {
    package init() {}
    package func take(_: ServerAPIEndpoint, _: CallLane, _: ServerAPIClass) async -> BudgetDecision { .granted }
    package func block(_: ServerAPIEndpoint, _: CallLane, for _: Duration?) async {}
}

/// The budgets by endpoint and environment, from `appstore.api_budget_status`.
package struct BudgetStatistics: Hashable, Statistics {
    package struct Budget: Hashable, Sendable {
        package let endpoint: String
        package let environment: String
        /// What was used in this hour, of the app that has used most.
        package let usedRatio: Double
        /// The rest of the longest block by a 429.
        package let blockedSeconds: Double
    }

    package let budgets: [Budget]

    /// For the role worker.
    package static let statement = Statement.serverAPIReadBudgets()

    package init(_ row: Row) throws {
        let endpoints: [String] = try row.decode("endpoints", as: [String]?.self) ?? []
        let environments: [String] = try row.decode("environments", as: [String]?.self) ?? []
        let ratios: [Double] = try row.decode("used_ratios", as: [Double]?.self) ?? []
        let blocked: [Double] = try row.decode("blocked_seconds", as: [Double]?.self) ?? []
        budgets = endpoints.indices.map { index in
            Budget(
                endpoint: endpoints[index],
                environment: environments[index],
                usedRatio: ratios[index],
                blockedSeconds: max(0, blocked[index])
            )
        }
    }
}
