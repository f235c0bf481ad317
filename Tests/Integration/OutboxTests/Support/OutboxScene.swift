import AppStoreVerification
import InboxTesting
import Postgres
import PostgresTesting
import PrometheusTesting
import ServiceLifecycle
import ServiceSupport
import StoreSimulator
import StoreSimulatorServer
import StrictJSON
import Testing

@testable import Outbox

/// A database, a simulated verifyReceipt, and services that make the database's calls to it.
struct OutboxScene {
    let database: TestDatabase
    let server: VerifyReceiptServer
    let log = AwaitedLog()
    let registry = MetricRegistry([
        MetricDescription("appstore_inbox_outbox_attempts_total", .counter, "Attempts."),
        MetricDescription("appstore_inbox_outbox_exchange_seconds", .histogram(bounds: [1]), "Exchanges."),
    ])
    /// The secrets that the services ask with.
    var secrets = [Simulated.secret]
    var configuration = OutboxService.Configuration()
    var slots = 1

    init(_ store: SimulatedReceiptStore) async throws {
        database = try await InboxDatabase.make()
        server = try await Simulated.server(store)
        configuration.rest = Backoff(base: .milliseconds(5), cap: .milliseconds(20))
        configuration.outage = configuration.rest
        // Only tests about a timeout set a short one.
        configuration.requestTimeout = .seconds(60)
        configuration.rules.backoff.base = .milliseconds(2)
    }

    /// Puts an event with a receipt into the inbox, and a call that asks about it into the outbox.
    @discardableResult
    func call(
        about receiptData: String = Simulated.receiptData,
        key: String = "1",
        bundleID: String = Simulated.bundleID,
        fallback: String? = nil,
        timeLimit: Duration = .seconds(86_400)
    ) async throws -> Int64 {
        let event = try await receive(receiptData)
        return try await open(key: key, bundleID: bundleID, event: event, fallback: fallback, timeLimit: timeLimit)
    }

    /// Puts an event with a receipt into the inbox.
    func receive(_ receiptData: String, from user: String = "anna") async throws -> Int64 {
        let json: JSONObject = ["receiptData": .string(receiptData), "user": .string(user)]
        let body = JSONSerializer.serialize(json)
        return try await number(
            """
            INSERT INTO appstore.inbox (source, received_at, body) VALUES ('client_receipt', clock_timestamp(), \(body)) RETURNING event_id
            """
        )
    }

    /// Puts a call into the outbox.
    @discardableResult
    func open(
        _ kind: String = "verify_receipt",
        key: String,
        bundleID: String = Simulated.bundleID,
        event: Int64? = nil,
        payload: [UInt8]? = nil,
        fallback: String? = nil,
        timeLimit: Duration = .seconds(86_400)
    ) async throws -> Int64 {
        try await number(
            """
            INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, payload, fallback_source, deadline_at)
            VALUES (\(kind), \(key), \(bundleID), \(event), \(payload), \(fallback),
                    clock_timestamp() + \(timeLimit.components.seconds) * interval '1 second')
            RETURNING call_id
            """
        )
    }

    private func number(_ statement: Statement) async throws -> Int64 {
        let rows = try await database.withConnection { try await $0.query(statement) }
        return try #require(try rows.first?.decode(0, as: Int64.self))
    }

    func service(pool: ConnectionPool) throws -> OutboxService {
        var addresses = VerifyReceiptAddresses()
        addresses.production = try #require(server.address(of: .production))
        addresses.sandbox = try #require(server.address(of: .sandbox))
        let handler = VerifyReceiptCallHandler(
            slots: slots,
            addresses: addresses,
            secrets: { [secrets] in SharedSecrets([Simulated.bundleID: secrets]) },
            receiptData: Self.receiptData
        )
        return OutboxService(pool: pool, handlers: [handler], configuration: configuration, logger: log.logger, metrics: registry)
    }

    @Sendable private static func receiptData(of event: LeasedCall.Event) -> String? {
        do {
            guard event.source == "client_receipt", case .string(let data)? = try JSONParser().parseObject(event.body)["receiptData"] else {
                return nil
            }
            return data
        } catch {
            return nil
        }
    }

    /// Runs `count` services while `body` runs.
    func running(_ count: Int = 1, connections: Int = 1, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let pools = try (0..<count).map { _ in try database.pool(user: "appstore_worker", connections: connections) }
        try await running(pools, body)
        for pool in pools { await pool.close() }
    }

    func running(_ pools: [ConnectionPool], _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await running(try pools.map { try service(pool: $0) }, body)
    }

    func running(_ services: [OutboxService], _ body: @escaping @Sendable () async throws -> Void) async throws {
        let group = ServiceGroup(configuration: .init(services: services.map { .init(service: $0) }, logger: .silent))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            do {
                try await body()
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// State, reason and attempts of all calls, in their order.
    func calls() async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', state, coalesce(reason, last_reason), attempts, is_leased) FROM appstore.outbox ORDER BY call_id"
        )
    }

    /// The answers in the inbox: source, call, and the number of entries in the queue.
    func answers() async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', i.source, c.call_id, (SELECT count(*) FROM appstore.inbox_queue AS r WHERE r.event_id = i.event_id))
            FROM appstore.inbox AS i LEFT JOIN appstore.outbox AS c ON c.answer_event_id = i.event_id
            WHERE i.source <> 'client_receipt' ORDER BY i.event_id
            """
        )
    }

    /// Ends all leases at once.
    func endLeases() async throws {
        _ = try await database.withConnection { connection in
            try await connection.execute("UPDATE appstore.outbox SET run_at = clock_timestamp() WHERE state = 'open'")
        }
    }

    /// Changes a call, or all open calls.
    func change(_ settings: String, of call: Int64? = nil) async throws {
        _ = try await database.withConnection { connection in
            try await connection.execute(
                "UPDATE appstore.outbox SET \(unsafeRaw: settings) WHERE call_id = \(call) OR \(call)::bigint IS NULL AND state = 'open'"
            )
        }
    }

    /// The number of attempts with the result.
    func attempts(_ result: String) throws -> Double? {
        try ExposedMetrics(registry.render()).value(
            "appstore_inbox_outbox_attempts_total",
            ["kind": "verify_receipt", "result": result]
        )
    }
}
