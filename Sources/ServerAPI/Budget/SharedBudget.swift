import AppStore
package import Logging
package import Outbox
package import Postgres
import Reporting
import SQL
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
        logger.log(level: level, "the budget of the App Store Server API cannot be used", metadata: [LogKey.error: "\(error)"])
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
