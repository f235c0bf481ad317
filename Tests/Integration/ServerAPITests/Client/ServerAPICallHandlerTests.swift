import AppStore
import InboxTesting
import Outbox
import Postgres
import PostgresTesting
import ServiceLifecycle
import ServiceSupport
import StrictJSON
import Testing

@testable import ServerAPI

/// Calls of the outbox that ask the App Store Server API.
@Suite(.timeLimit(.minutes(2)))
struct ServerAPICallHandlerTests {
    /// Asks once, in the call's environment.
    private struct Attempt: ServerAPIAttempt {
        let call: LeasedCall

        mutating func next(after result: ServerAPIResult?) -> ServerAPIStep {
            guard let result else {
                return .ask(ServerAPIRequest(.consumption, of: call.bundleID, in: call.environment, path: ["42"], body: [:]))
            }
            return .finish(result.callResult { _ in [] } ?? .refused(reason: "never"))
        }
    }

    @Test func `an empty budget is waited for in the slot, for some seconds, and a block is not`() async throws {
        let call = LeasedCall(callID: 1, epoch: 1, kind: "consumption", bundleID: ScriptedAPI.production.bundleID, timeLeft: .seconds(60))
        func result(_ decisions: [BudgetDecision]) async throws -> (CallResult?, looks: Int) {
            let api = ScriptedAPI([.status(202)])
            for decision in decisions { api.budget.decide(decision) }
            let handler = ServerAPICallHandler(["consumption"], client: api.client([try ScriptedAPI.key("KEY")])) { Attempt(call: $0) }
            return (await handler.result(of: call, through: api.exchange), api.budget.classes.count)
        }
        let short = BudgetDecision.wait(.milliseconds(25), isBlocked: false)
        let granted = try await result([short, short])
        #expect(granted.0 == .answered([]) && granted.looks == 3)
        let long = try await result([.wait(.seconds(11), isBlocked: false)])
        #expect(long.0 == .later(reason: "budget", notBefore: .seconds(11), countsAttempt: false) && long.looks == 1)
        let blocked = try await result([.wait(.milliseconds(25), isBlocked: true)])
        #expect(blocked.0 == .later(reason: "rate_limited", notBefore: .milliseconds(25), countsAttempt: false) && blocked.looks == 1)
    }

    @Test func `a call is answered without an event, after a 401 and a 429 that count no attempt`() async throws {
        let database = try await InboxDatabase.make()
        _ = try await database.withConnection { connection in
            try await connection.execute(
                """
                INSERT INTO appstore.outbox (kind, call_key, bundle_id, environment, priority, payload, deadline_at)
                VALUES ('consumption', 'Sandbox:42', 'com.example.app', 'Sandbox', 0, '\\x01', clock_timestamp() + interval '12 hours')
                """
            )
        }
        let now = ScriptedAPI.start.millisecondsSince1970
        let api = ScriptedAPI([.status(401), .json(429, "", retryAfter: "\(now)"), .json(503, ""), .status(202)])
        let client = api.client([try ScriptedAPI.key("NEW"), try ScriptedAPI.key("OLD")])
        let handler = ServerAPICallHandler(["consumption"], client: client) { Attempt(call: $0) }
        #expect(handler.lanes == [ScriptedAPI.production, ScriptedAPI.sandbox])
        let pool = try database.pool(user: "appstore_worker", connections: 2)
        var configuration = OutboxService.Configuration()
        configuration.rest = Backoff(base: .milliseconds(5), cap: .milliseconds(20))
        configuration.rules.backoff.base = .milliseconds(2)
        let service = OutboxService(
            pool: pool,
            handlers: [handler],
            configuration: configuration,
            logger: .silent,
            metrics: api.registry,
            exchange: api.exchange
        )
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            let settled = "SELECT concat_ws(' ', state, attempts, epoch, answer_event_id) FROM appstore.outbox WHERE state <> 'open'"
            try await eventually("the call is settled") { try await database.lines("\(unsafeRaw: settled)") == ["answered 2 3"] }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
        #expect(api.requests.count == 4 && api.requests.allSatisfy { $0.url.contains("sandbox") && $0.method == .put })
        #expect(api.budget.blocks == [.zero] && Set(api.budget.classes) == [.deadline])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
    }
}
