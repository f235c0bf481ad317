import AppStore
import InboxTesting
import OpenSSL
import Outbox
import Postgres
import PostgresTesting
import PrometheusTesting
import ServiceLifecycle
import ServiceSupport
import StrictJSON
import Synchronization
import Testing

@testable import ServerAPI

/// Decisions in a database, sent through the outbox to a scripted App Store.
@Suite(.timeLimit(.minutes(2)))
struct ConsumptionHandlerTests {
    @Test func `a decision is sent and recorded as answered`() async throws {
        let scene = try await ConsumptionHandlerScene()
        try await scene.decide("percentage => 100000, preference => 'DECLINE'")
        try await scene.run(answering: [.answer(HTTPAnswer(status: 202))], until: "answered DECLINE")
        let request = try #require(scene.requests.first)
        #expect(request.method == .put)
        #expect(request.url == "https://api.storekit.apple.com/inApps/v2/transactions/consumption/1000")
        let body: JSONObject = [
            "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false, "consumptionPercentage": 100_000,
            "refundPreference": "DECLINE",
        ]
        #expect(try Set(JSONParser().parseObject(request.body).members) == Set(body.members))
        #expect(try await scene.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        let metrics = try ExposedMetrics(scene.registry.render())
        #expect(metrics.count("appstore_inbox_consumption_answered_seconds") == 1)
    }

    @Test(arguments: [4_000_035, 4_000_044, 4_000_185, 4_000_209, 4_000_227, 4_000_999])
    func `a refusal shows Apple's code, and a correct decision follows`(code: Int) async throws {
        let scene = try await ConsumptionHandlerScene()
        try await scene.decide("preference => 'GRANT_FULL'")
        try await scene.run(answering: [.apple(400, code)], until: "refused GRANT_FULL apple_\(code)")
        try await scene.decide("preference => 'DECLINE'")
        try await scene.run(answering: [.answer(HTTPAnswer(status: 202))], until: "answered DECLINE")
        #expect(scene.requests.count == 2)
    }

    /// The first 401 may be the key's, so it counts no attempt; nor does the 429.
    @Test func `a call is repeated after a 429, a 5xx, a transaction that a replica does not know, and a broken connection`() async throws {
        let scene = try await ConsumptionHandlerScene()
        try await scene.decide("preference => 'DECLINE'")
        let outcomes: [ExchangeOutcome] = [
            .answer(HTTPAnswer(status: 429, retryAfter: "3999999999999")), .apple(404, 4_040_010), .answer(HTTPAnswer(status: 503)),
            .apple(500, 5_000_001), .failure(.connectionFailed), .answer(HTTPAnswer(status: 202)),
        ]
        try await scene.run(answering: outcomes, until: "answered DECLINE")
        #expect(scene.requests.count == outcomes.count)
        #expect(try await scene.database.lines("SELECT attempts::text FROM appstore.outbox") == ["5"])
    }

    @Test func `a refused key postpones the call without an attempt`() async throws {
        let scene = try await ConsumptionHandlerScene()
        try await scene.decide("preference => 'DECLINE'")
        try await scene.run(answering: [.answer(HTTPAnswer(status: 401))], until: "sending DECLINE", calls: "open 0 api_key")
    }
}

/// A request of an hour ago, and a worker's outbox whose exchange is scripted.
final class ConsumptionHandlerScene: Sendable {
    let database: TestDatabase
    let registry = MetricRegistry([
        MetricDescription("appstore_inbox_outbox_attempts_total", .counter, "Attempts."),
        MetricDescription("appstore_inbox_outbox_exchange_seconds", .histogram(bounds: [1]), "Exchanges."),
        MetricDescription("appstore_inbox_consumption_answered_seconds", .histogram(bounds: [60, 43_200]), "Answers."),
        MetricDescription("appstore_inbox_server_api_requests_total", .counter, "Requests."),
        MetricDescription("appstore_inbox_server_api_key_refused_total", .counter, "Refusals."),
        MetricDescription("appstore_inbox_server_api_clock_skew_seconds", .gauge, "Skew."),
    ])
    private let state = Mutex((outcomes: [ExchangeOutcome](), requests: [OutboundRequest]()))

    var requests: [OutboundRequest] { state.withLock(\.requests) }

    init() async throws {
        database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                    purchase_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
                VALUES ('Production', '1000', '1000', 'com.example.app', 'coins', 'Consumable', now(), now(), '\\x01', now(), gen_random_uuid(), false);
                INSERT INTO appstore.refund_requests
                    (environment, notification_uuid, kind, transaction_id, original_transaction_id, signed_date)
                VALUES ('Production', gen_random_uuid(), 'asked', '1000', '1000', now() - interval '1 hour');
                SELECT appstore.derive_refund_requests('Production', '{1000}');
                INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('com.example.app', 'backend');
                """
            )
        }
    }

    func decide(_ rest: String) async throws {
        _ = try await database.withConnection(user: "appstore_backend") { connection in
            try await connection.query(
                "SELECT appstore.answer_consumption('Production', '1000', true, 'DELIVERED', false, evidence => 'terms 7', \(unsafeRaw: rest))"
            )
        }
    }

    /// Runs the outbox until the request is in a state, and the call in one.
    func run(answering outcomes: [ExchangeOutcome], until expected: String, calls expectedCall: String? = nil) async throws {
        state.withLock { $0.outcomes = outcomes }
        let keys = APIKeys(
            [
                APIKey(
                    id: APIKey.ID(issuer: "57246542-96fe-1a63-e053-0824d011072a", keyID: "KEY"),
                    privateKey: try PrivateKey.generate(.p256)
                )
            ],
            lanes: [CallLane("com.example.app", .production)]
        )
        let start = ContinuousClock.now
        let client = ServerAPIClient(
            keys: { keys },
            budget: UnlimitedBudget(),
            logger: .silent,
            metrics: registry,
            now: { Timestamp(millisecondsSince1970: 4_000_000_000_000).advanced(by: .now - start) }
        )
        let pool = try database.pool(user: "appstore_worker", connections: 2)
        var configuration = OutboxService.Configuration()
        configuration.rest = Backoff(base: .milliseconds(5), cap: .milliseconds(20))
        configuration.rules.backoff.base = .milliseconds(2)
        let service = OutboxService(
            pool: pool,
            handlers: [ServerAPICallHandler.consumption(client, metrics: registry)],
            configuration: configuration,
            logger: .silent,
            metrics: registry,
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
            try await eventually("the request is \(expected)") { [database] in
                let states = try await database.lines(
                    "SELECT concat_ws(' ', state, preference, refused_with) FROM appstore.consumption_requests"
                )
                guard let expectedCall else { return states == [expected] }
                let calls = try await database.lines("SELECT concat_ws(' ', state, attempts, waits_for) FROM appstore.outbox")
                return states == [expected] && calls == [expectedCall]
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
    }
}

extension ExchangeOutcome {
    /// Apple's error.
    fileprivate static func apple(_ status: Int, _ code: Int) -> ExchangeOutcome {
        .answer(HTTPAnswer(status: status, body: Array(#"{"errorCode":\#(code),"errorMessage":"no"}"#.utf8)))
    }
}
