import AppStore
import InboxTesting
import OpenSSL
import Outbox
import Postgres
import PostgresTesting
import ServiceLifecycle
import ServiceSupport
import Synchronization

@testable import ServerAPI

/// Questions in a database, and a worker's outbox whose exchange is scripted.
final class InquiryScene: Sendable {
    let database: TestDatabase
    private let state = Mutex((outcomes: [ExchangeOutcome](), requests: [OutboundRequest]()))

    var requests: [OutboundRequest] { state.withLock(\.requests) }
    /// The last part of the path of each request, with the query.
    var targets: [String] { requests.map { String($0.url.split(separator: "/").last ?? "") } }

    init() async throws {
        database = try await InboxDatabase.make()
    }

    /// Runs SQL that returns a call.
    @discardableResult
    func ask(_ sql: String, as role: String = "appstore_operator") async throws -> Int64 {
        try await database.withConnection(user: role) { try await $0.query("SELECT \(unsafeRaw: sql)")[0].decode(0) }
    }

    /// State, reason, attempts, answer and number of events of each call.
    func calls() async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', state, reason, attempts, answer, cardinality(answer_event_ids)) FROM appstore.outbox ORDER BY call_id"
        )
    }

    /// Runs the outbox until no call is open, or all that is scripted was asked for.
    func run(answering outcomes: [ExchangeOutcome], until isDone: @escaping @Sendable (String) -> Bool = { !$0.contains("open") })
        async throws
    {
        state.withLock { $0.outcomes = outcomes }
        let id = APIKey.ID(issuer: "57246542-96fe-1a63-e053-0824d011072a", keyID: "KEY")
        let lanes = [AppStoreEnvironment.production, .sandbox].map { CallLane("com.example.app", $0) }
        let keys = APIKeys([APIKey(id: id, privateKey: try PrivateKey.generate(.p256))], lanes: Set(lanes))
        let client = ServerAPIClient(
            keys: { keys },
            budget: UnlimitedBudget(),
            logger: .silent,
            now: { Timestamp(millisecondsSince1970: 1_790_000_000_000) }
        )
        let pool = try database.pool(user: "appstore_worker", connections: 2)
        var configuration = OutboxService.Configuration()
        configuration.rest = Backoff(base: .milliseconds(5), cap: .milliseconds(20))
        configuration.rules.backoff.base = .milliseconds(2)
        let service = OutboxService(
            pool: pool,
            handlers: ServerAPICallHandler.inquiries(client),
            configuration: configuration,
            logger: .silent,
            exchange: Exchange { [self] request, _ in
                state.withLock { state in
                    state.requests.append(request)
                    return state.outcomes.isEmpty ? .answer(HTTPAnswer(status: 500)) : state.outcomes.removeFirst()
                }
            }
        )
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            try await eventually("the calls are settled") { [database] in
                let states = try await database.lines("SELECT concat_ws(' ', state, waits_for) FROM appstore.outbox")
                return isDone(states.joined(separator: " "))
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
    }
}

extension ExchangeOutcome {
    static func json(_ text: String) -> ExchangeOutcome { .answer(HTTPAnswer(status: 200, body: Array(text.utf8))) }

    /// Apple's error.
    static func apple(_ status: Int, _ code: Int) -> ExchangeOutcome {
        .answer(HTTPAnswer(status: status, body: Array(#"{"errorCode":\#(code),"errorMessage":"no"}"#.utf8)))
    }
}
