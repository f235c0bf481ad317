package import Postgres
import PostgresTesting

/// A superuser's access to an installation's database.
package struct SQLAccess: Sendable {
    private let pool: ConnectionPool
    private static let connections = 4

    package init(url: String) throws {
        let configuration = ConnectionPool.Configuration(maxConnections: Self.connections, acquireTimeout: .seconds(20))
        pool = ConnectionPool(options: try ConnectionOptions(url), configuration: configuration, logger: .silent)
    }

    package func close() async {
        await pool.close()
    }

    /// Runs a query, and retries it on connections that a restart of the server has broken.
    package func rows(_ statement: Statement) async throws -> Rows {
        for _ in 0..<Self.connections {
            do {
                return try await pool.withConnection { try await $0.query(statement) }
            } catch let error as PostgresError where error.isConnectionLoss {
                continue
            }
        }
        return try await pool.withConnection { try await $0.query(statement) }
    }

    @discardableResult
    package func execute(_ statement: Statement) async throws -> Int {
        try await pool.withConnection { try await $0.execute(statement) }
    }

    /// Lends a transaction, for instance to hold locks that block a worker.
    package func withTransaction<Value: Sendable>(_ body: (Transaction) async throws -> Value) async throws -> Value {
        try await pool.withTransaction(body)
    }

    /// The first column of the first row.
    package func value<Value: PostgresDecodable>(_ type: Value.Type = Value.self, _ statement: Statement) async throws -> Value {
        guard let row = try await rows(statement).first else { throw ProgramFailure(what: "no row from \(statement)") }
        return try row.decode(0)
    }

    /// The first column of all rows.
    package func values(_ statement: Statement) async throws -> [String] {
        try await rows(statement).map { try $0.decode(0) }
    }

    /// The rows of the view `inbox_status`, oldest event first.
    package func events() async throws -> [EventStatus] {
        try await rows(
            """
            SELECT event_id, state, result, reason, notification_type, notification_uuid::text, attempts, last_error
            FROM appstore.inbox_status ORDER BY event_id
            """
        ).map(EventStatus.init)
    }

    /// Waits until that many events are settled and the queue is empty; returns all events.
    @discardableResult
    package func settled(_ count: Int, within duration: Duration = .seconds(20)) async throws -> [EventStatus] {
        try await eventually("\(count) events are settled", within: duration) {
            let (ready, settled) = try await rows(
                "SELECT (SELECT count(*) FROM appstore.inbox_queue), (SELECT count(*) FROM appstore.outcomes)"
            )[0].decode((Int.self, Int.self))
            guard ready == 0, settled >= count else { return nil }
            let events = try await events()
            guard events.count == count else { throw ProgramFailure(what: "\(events.count) events are settled instead of \(count)") }
            return events
        }
    }

    /// The outcomes, oldest event first.
    package func outcomes() async throws -> [String] {
        try await events().map { $0.outcome ?? $0.state }
    }

    /// Makes an order as the shop's backend does.
    package func makeOrder(user: String, product: String, no: String) async throws {
        try await withTransaction { transaction in
            try await transaction.execute("SET LOCAL ROLE appstore_backend")
            _ = try await transaction.query("SELECT appstore.create_order(\(user), \(product), \(no)::text::uuid)")
        }
    }
}

/// One event and its outcome.
package struct EventStatus: Hashable, Sendable {
    package let eventID: Int64
    package let state: String
    package let outcome: String?
    package let reason: String?
    package let notificationType: String?
    package let notificationUUID: String?
    package let attempts: Int32
    package let lastError: String?

    package init(_ row: Row) throws {
        eventID = try row.decode("event_id")
        state = try row.decode("state")
        outcome = try row.decode("result")
        reason = try row.decode("reason")
        notificationType = try row.decode("notification_type")
        notificationUUID = try row.decode("notification_uuid")
        attempts = try row.decode("attempts")
        lastError = try row.decode("last_error")
    }
}
