import InboxTesting
import Postgres
import PostgresTesting
import ServiceLifecycle
import ServiceSupport

@testable import Feed

/// A database whose feed is on, and services that send it to the test's receivers.
struct WebhookScene {
    static let master = "a master secret of more than thirty-two bytes"

    let database: TestDatabase
    let log = CapturedLog()
    let registry = MetricRegistry([
        MetricDescription("appstore_inbox_endpoint_attempts_total", .counter, "Attempts."),
        MetricDescription("appstore_inbox_endpoint_seconds", .histogram(bounds: [1]), "Attempts."),
    ])
    var configuration = WebhookService.Configuration()
    var masters = WebhookScene.master

    static func make(in cluster: TestCluster = .shared) async throws -> WebhookScene {
        let scene = WebhookScene(database: try await InboxDatabase.make(in: cluster))
        // The first entry makes the partition.
        try await scene.operate("SELECT appstore.enable_feed()")
        try await scene.execute("INSERT INTO appstore.tells (kind, ref) VALUES ('forgotten', 'first')")
        try await scene.database.sequenceFeed()
        return scene
    }

    func operate(_ statement: Statement) async throws { try await execute(statement, as: "appstore_operator") }

    @discardableResult
    func execute(_ statement: Statement, as user: String = "postgres") async throws -> Int {
        try await database.withConnection(user: user) { try await $0.query(statement).count }
    }

    /// Adds entries of these subjects to the feed, as a step of the sequencer does.
    func tell(_ subjects: [String?], data: String = "{}") async throws {
        try await execute(
            """
            WITH head AS (
                UPDATE appstore.feed_head SET position = position + \(subjects.count) RETURNING position
            )
            INSERT INTO appstore.feed (position, id, type, environment, bundle_id, subject, occurred_at, told_at, data)
            SELECT head.position - \(subjects.count) + s.place, gen_random_uuid(), 'effect.granted', 'Production', 'com.example.shop', s.id,
                   clock_timestamp(), clock_timestamp(), \(data)::jsonb
            FROM head, unnest(\(subjects)) WITH ORDINALITY AS s (id, place)
            """
        )
    }

    /// The ids of the entries after the first, in the order of their positions.
    func ids(of subject: String? = nil) async throws -> [String] {
        try await database.lines(
            """
            SELECT f.id::text FROM appstore.feed AS f
            WHERE f.type = 'effect.granted' AND (\(subject)::text IS NULL OR f.subject = \(subject)) ORDER BY f.position
            """
        )
    }

    /// `position results…` of each entry with attempts.
    func attempts() async throws -> [String] {
        try await database.lines(
            """
            SELECT a.position || ' ' || string_agg(concat_ws('/', a.result, a.status), ' ' ORDER BY a.attempt_id)
            FROM appstore.delivery_attempts AS a GROUP BY a.position ORDER BY a.position
            """
        )
    }

    func state(_ columns: String, of endpoint: String = "crm") async throws -> String {
        try await database.lines("SELECT concat_ws(' ', \(unsafeRaw: columns)) FROM appstore.endpoints WHERE name = \(endpoint)").first
            ?? ""
    }

    /// Waits until the endpoint has passed everything, and nothing is open.
    func awaitDelivery(of endpoint: String = "crm", within duration: Duration = .seconds(60)) async throws {
        try await database.withConnection { connection in
            try await eventually("everything is delivered", within: duration) {
                try await connection.query(
                    """
                    SELECT FROM appstore.endpoints AS e, appstore.feed_head AS h
                    WHERE e.name = \(endpoint) AND e.position = h.position
                      AND NOT EXISTS (SELECT FROM appstore.open_deliveries AS d WHERE d.endpoint = e.name)
                    """
                ).count == 1
            }
        }
    }

    func service(_ pool: ConnectionPool) throws -> WebhookService {
        let masters = try WebhookMasters(masters)
        return WebhookService(
            pool: pool,
            configuration: configuration,
            masters: { masters },
            headers: { [("x-endpoint", $0)] },
            logger: log.logger,
            metrics: registry
        )
    }

    /// Runs services, each with a pool of its own, while `body` runs.
    func running(_ count: Int = 1, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let pools = try (0..<count).map { _ in try database.pool(user: "appstore_worker", connections: 2) }
        let services = try pools.map { try service($0) }
        try await running(services, body)
        for pool in pools { await pool.close() }
    }

    func running(_ services: [any Service], _ body: @escaping @Sendable () async throws -> Void) async throws {
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

    /// Lets the pauses of failed entries pass at once, until the test is over.
    func timeLapse() async throws {
        try await database.withConnection { connection in
            while !Task.isCancelled {
                _ = try await connection.execute(
                    "UPDATE appstore.open_deliveries SET run_at = clock_timestamp() WHERE attempts > 0 AND run_at > clock_timestamp()"
                )
                try await pauseBriefly()
            }
        }
    }
}
