import AppStore
import InboxTesting
import Metrics
import OpenSSL
import Outbox
import Postgres
import PostgresTesting
import ServiceLifecycle
import Synchronization
import Testing

@testable import ServerAPI

/// Many answers and few requests: the slots wait, and the outbox is not written for it.
@Suite(.timeLimit(.minutes(2)))
struct ConsumptionBudgetTests {
    @Test func `many due calls share a small budget, and each of them is leased once`() async throws {
        let database = try await InboxDatabase.make()
        _ = try await database.withConnection { connection in
            try await connection.execute(
                """
                INSERT INTO appstore.outbox (kind, call_key, bundle_id, priority, deadline_at, payload)
                SELECT 'consumption', n::text, 'com.example.app', 0, clock_timestamp() + interval '12 hours',
                       convert_to(format('{"transactionId":"%s","version":2,"askedAt":1790000000000,"body":{}}', n), 'UTF8')
                FROM generate_series(1, 60) AS n
                """
            )
        }
        let key = APIKey(id: APIKey.ID(issuer: "issuer", keyID: "key"), privateKey: try PrivateKey.generate(.p256))
        let keys = APIKeys([key], lanes: [CallLane("com.example.app", .production)])
        let pool = try database.pool(user: "appstore_worker", connections: 4)
        let client = ServerAPIClient(
            keys: { keys },
            // Twenty requests at once, then twenty a second.
            budget: SharedBudget(pool: pool, share: 0.4, logger: .silent),
            logger: .silent,
            metrics: NOOPMetricsHandler.instance,
            now: { Timestamp(millisecondsSince1970: 1_790_000_000_000) }
        )
        let requests = Mutex<[String]>([])
        let service = OutboxService(
            pool: pool,
            handlers: [ServerAPICallHandler.consumption(client, metrics: NOOPMetricsHandler.instance)],
            configuration: OutboxService.Configuration(),
            logger: .silent,
            metrics: NOOPMetricsHandler.instance,
            exchange: Exchange { request, _ in
                requests.withLock { $0.append(request.url) }
                return .answer(HTTPAnswer(status: 202))
            }
        )
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            try await eventually("all calls are answered") {
                try await database.lines("SELECT count(*)::text FROM appstore.outbox WHERE state <> 'answered'") == ["0"]
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
        #expect(Set(requests.withLock { $0 }).count == 60 && requests.withLock(\.count) == 60)
        #expect(try await database.lines("SELECT DISTINCT concat_ws(' ', epoch, attempts, waits_for) FROM appstore.outbox") == ["1 1"])
    }
}
