import AppStore
import InboxTesting
import Outbox
import Postgres
import PostgresTesting
import ServiceSupport
import Testing

@testable import ServerAPI

/// The budget in PostgreSQL. Tests move its stored times instead of waiting.
@Suite(.timeLimit(.minutes(3)))
struct SharedBudgetTests {
    private let database: TestDatabase
    private let lane = CallLane("com.example.app", .production)
    private let endpoint = ServerAPIEndpoint.subscriptionStatuses

    init() async throws {
        database = try await InboxDatabase.make()
    }

    private struct Taken: Equatable {
        var granted: Int
        var wait: Int64
        var isBlocked: Bool
    }

    private func take(
        _ wanted: Int,
        _ urgency: ServerAPIClass = .deadline,
        of endpoint: ServerAPIEndpoint? = nil,
        share: Double = 0.8,
        on connection: Connection
    ) async throws -> Taken {
        let statement = SharedBudget.take(endpoint ?? self.endpoint, lane, urgency, wanted: wanted, share: share)
        let row = try await connection.query(statement)[0]
        return Taken(
            granted: Int(try row.decode("granted", as: Int32.self)),
            wait: try row.decode("wait", as: Duration.self).milliseconds,
            isBlocked: try row.decode("is_blocked")
        )
    }

    private func change(_ settings: String) async throws {
        _ = try await database.withConnection { try await $0.execute("UPDATE appstore.api_budgets SET \(unsafeRaw: settings)") }
    }

    private func status(_ columns: String) async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', \(unsafeRaw: columns)) FROM appstore.api_budget_status ORDER BY endpoint")
    }

    private func asWorker<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        try await database.withConnection(user: "appstore_worker", body)
    }

    @Test func `a shutdown in the middle of a statement is not reported as an outage`() async throws {
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let log = CollectedLog()
        let budget = SharedBudget(pool: pool, logger: log.logger)
        let decision = await Task { [endpoint, lane] in
            withUnsafeCurrentTask { $0?.cancel() }
            return await budget.take(endpoint, lane, .history)
        }.value
        await pool.close()
        #expect(decision == .unavailable && log.lines == [])
    }

    @Test func `each class takes until what it must leave to the more urgent ones is left`() async throws {
        // No refill during the test: a tenth of a request a second, five at most.
        try await asWorker { connection in
            func take(_ urgency: ServerAPIClass) async throws -> Int {
                try await self.take(50, urgency, of: .testStatus, share: 0.1, on: connection).granted
            }
            #expect(
                try await self.take(1, .deadline, of: .testStatus, share: 0.1, on: connection)
                    == Taken(granted: 1, wait: 0, isBlocked: false)
            )
            try await change("tokens = 5, setting = 0.1, refilled_at = clock_timestamp()")
            // At most a second's worth, which is one request here. Import leaves 3 of 5, history 2, reconcile 1.25, interactive 0.5.
            let classes: [ServerAPIClass] = [
                .import, .import, .import, .history, .history, .reconcile, .interactive, .interactive, .deadline, .deadline,
            ]
            var taken: [Int] = []
            for urgency in classes { taken.append(try await take(urgency)) }
            #expect(taken == [1, 1, 0, 1, 0, 0, 1, 0, 1, 0])
        }
        #expect(try await status("last_class, used_this_hour") == ["deadline 6"])
    }

    @Test func `what was not granted says how long to wait`() async throws {
        try await asWorker { connection in
            _ = try await take(1, on: connection)
            // 40 requests a second: import leaves 24 of 40.
            try await change("tokens = 4, refilled_at = clock_timestamp()")
            let taken = try await take(10, .import, on: connection)
            #expect(taken.granted == 0 && !taken.isBlocked && (300...530).contains(taken.wait))
            try await change("refilled_at = refilled_at - interval '\(taken.wait + 5) milliseconds'")
            #expect(try await take(10, .import, on: connection).granted >= 1)
        }
    }

    @Test func `one statement takes a second's worth at most, and a full bucket holds as much`() async throws {
        try await asWorker { connection in
            #expect(try await take(1000, on: connection).granted == 40)
            #expect(try await take(1000, on: connection).granted <= 20)
            try await change("refilled_at = refilled_at - interval '1 day'")
            #expect(try await take(1000, on: connection).granted == 40)
        }
    }

    @Test func `Sandbox has a tenth, and each app, environment and endpoint a budget of its own`() async throws {
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let budget = SharedBudget(pool: pool, share: 0.5, logger: .silent)
        for lane in [lane, CallLane("com.example.app", .sandbox), CallLane("com.example.other", .production)] {
            #expect(await budget.take(endpoint, lane, .import) == .granted)
        }
        #expect(await budget.take(.orderLookup, lane, .interactive) == .granted)
        await pool.close()
        #expect(
            try await status("bundle_id, environment, endpoint, setting, used_this_hour").sorted() == [
                "com.example.app Production order_lookup 5 1", "com.example.app Production subscription_statuses 25 1",
                "com.example.app Sandbox subscription_statuses 2.5 1", "com.example.other Production subscription_statuses 25 1",
            ]
        )
    }

    @Test func `many workers at once never take more than the bucket and what flows into it`() async throws {
        let pool = try database.pool(user: "appstore_worker", connections: 8)
        let start = ContinuousClock.now
        let taken = try await withThrowingTaskGroup { group in
            for worker in 0..<8 {
                let urgency = ServerAPIClass.allCases[worker % 5]
                group.addTask {
                    var taken = 0
                    for round in 1...40 {
                        let statement = SharedBudget.take(endpoint, lane, urgency, wanted: round, share: 0.8)
                        let row = try await pool.withConnection { try await $0.query(statement) }[0]
                        taken += Int(try row.decode("granted", as: Int32.self))
                    }
                    return taken
                }
            }
            return try await group.reduce(0, +)
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        await pool.close()
        #expect(taken >= 40 && Double(taken) <= 40 + 40 * elapsed + 1, "\(taken) in \(elapsed) s")
        #expect(try await status("used_this_hour") == ["\(taken)"])
    }

    @Test func `a 429 blocks the endpoint until the stated time and some seconds, and lowers the allowance once`() async throws {
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        let budget = SharedBudget(pool: pool, logger: .silent)
        #expect(await budget.take(endpoint, lane, .interactive) == .granted)
        #expect(await budget.take(.orderLookup, lane, .interactive) == .granted)
        for _ in 0..<5 { await budget.block(endpoint, lane, for: .seconds(600)) }
        guard case .wait(let delay, isBlocked: true) = await budget.take(endpoint, lane, .deadline) else {
            Issue.record("not blocked")
            return
        }
        #expect(delay > .seconds(590) && delay <= .seconds(605))
        #expect(await budget.take(.orderLookup, lane, .interactive) == .granted)
        #expect(
            try await status("endpoint, round(allowance::numeric, 1), blocked_until IS NULL") == [
                "order_lookup 8.0 t", "subscription_statuses 28.0 f",
            ]
        )
        // The block ends: nothing was saved up meanwhile.
        try await change("blocked_until = clock_timestamp(), refilled_at = clock_timestamp() WHERE endpoint = 'subscription_statuses'")
        #expect(await budget.take(endpoint, lane, .import) != .granted)
        // Another 429 lowers it again, without a usable time for a minute.
        await budget.block(endpoint, lane, for: nil)
        #expect(
            try await status(
                "round(allowance::numeric, 1), blocked_until BETWEEN now() + interval '55 seconds' AND now() + interval '65 seconds'"
            ) == [
                "8.0", "19.6 t",
            ]
        )
        await pool.close()
    }

    @Test func `after a 429 a tenth of the setting comes back each hour, up to the setting`() async throws {
        try await asWorker { connection in
            _ = try await take(1, on: connection)
            _ = try await connection.query(SharedBudget.block(endpoint, lane, for: .zero))
            #expect(try await status("round(allowance::numeric, 1)") == ["28.0"])
            for allowance in ["32.0", "36.0", "40.0", "40.0"] {
                try await change("last_429_at = last_429_at - interval '1 hour'")
                #expect(try await status("round(allowance::numeric, 1)") == [allowance])
            }
            // Many in a row leave a twentieth.
            for _ in 0..<20 {
                try await change("blocked_until = clock_timestamp()")
                _ = try await connection.query(SharedBudget.block(endpoint, lane, for: .zero))
            }
            #expect(try await status("round(allowance::numeric, 1)") == ["2.0"])
        }
    }

    @Test func `the hour's use begins anew with each hour`() async throws {
        try await asWorker { connection in
            _ = try await take(10, on: connection)
            #expect(try await status("used_this_hour") == ["10"])
            try await change("hour_began = hour_began - interval '1 hour'")
            #expect(try await status("used_this_hour, used_ratio") == ["0 0"])
            _ = try await take(3, on: connection)
            #expect(try await status("used_this_hour") == ["3"])
        }
    }

    @Test func `a changed setting counts from the next request on`() async throws {
        try await asWorker { connection in
            _ = try await take(1, on: connection)
            _ = try await take(1, share: 0.4, on: connection)
            #expect(try await status("setting, allowance") == ["20 20"])
        }
    }

    @Test func `nonsense is refused`() async throws {
        for (urgency, wanted) in [(5, 1), (-1, 1), (0, 0)] {
            await #expect(throws: PostgresError.self) {
                try await asWorker { connection in
                    try await connection.query(
                        "SELECT * FROM appstore.take_api_budget('a', 'Production', 'consumption', 40, \(urgency)::integer, \(wanted)::integer)"
                    )
                }
            }
        }
    }

    @Test func `without the database nothing is granted`() async throws {
        let pool = ConnectionPool(options: try ConnectionOptions("host=/nonexistent"), logger: .silent)
        let log = CollectedLog()
        let budget = SharedBudget(pool: pool, logger: log.logger)
        #expect(await budget.take(endpoint, lane, .deadline) == .unavailable)
        await budget.block(endpoint, lane, for: .seconds(1))
        #expect(log.lines.count { $0.hasPrefix("warning: the budget") } == 1)
        await pool.close()
    }

    @Test func `the statistics are those of each endpoint and environment`() async throws {
        try await asWorker { connection in
            #expect(try BudgetStatistics(try await connection.query(BudgetStatistics.statement)[0]).budgets == [])
            _ = try await take(36, on: connection)
            _ = try await connection.query(SharedBudget.block(endpoint, lane, for: .seconds(100)))
            let budgets = try BudgetStatistics(try await connection.query(BudgetStatistics.statement)[0]).budgets
            #expect(budgets.map(\.endpoint) == ["subscription_statuses"] && budgets.map(\.environment) == ["Production"])
            #expect(budgets[0].usedRatio > 0.0003 && budgets[0].usedRatio < 0.0004)
            #expect((95...105).contains(budgets[0].blockedSeconds))
        }
    }
}
