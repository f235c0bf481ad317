import AppStore
import InboxQueue
import InboxTesting
import Interpretation
import Postgres
import PostgresTesting
import ServiceSupport
import SignedTesting

/// A worker's queue on its own database: takes bodies, and returns outcomes and rows of the ledger.
struct WorkerScene {
    let database: TestDatabase
    private let queue: EventQueue<EventProcessor.Prepared>

    /// - Parameter legacy: whether events open calls to Apple; these are not made.
    static func with(legacy: LegacySettings = .local, _ body: (WorkerScene) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        let processor = EventProcessor(
            EventReader(verifier: try SignedScene.verifier(), receipts: try SignedScene.receiptVerifier(), legacy: legacy)
        )
        var configuration = EventQueue<EventProcessor.Prepared>.Configuration()
        // No event is retried during a test.
        configuration.retry.base = .seconds(3600)
        let queue = EventQueue(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: processor.prepare,
            merge: processor.merge
        )
        try await body(WorkerScene(database: database, queue: queue))
        await pool.close()
    }

    /// Puts a body into the inbox as received at `instant`, and returns its event id.
    @discardableResult
    func receive(_ body: [UInt8], source: String, at instant: Timestamp = SignedScene.now) async throws -> Int64 {
        let receivedAt = PostgresTimestamp(millisecondsSince1970: instant.millisecondsSince1970)
        return try await database.withConnection { connection in
            let rows = try await connection.query(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body) VALUES (\(source), \(receivedAt), \(body))
                    RETURNING event_id
                )
                INSERT INTO appstore.inbox_queue (event_id, run_at, bytes)
                SELECT stored.event_id, clock_timestamp(), \(Int32(body.count)) FROM stored
                RETURNING event_id
                """
            )
            return try rows[0].decode("event_id")
        }
    }

    /// Puts a notification into the inbox.
    @discardableResult
    func receive(notification jws: [UInt8]) async throws -> Int64 {
        try await receive(Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8), source: "notification_v2")
    }

    /// Processes batches until no event is due.
    func work() async throws {
        while try await queue.takeBatch().events > 0 {}
    }

    /// Processes all events, then returns the outcome of one: `result reason`.
    func outcome(of eventID: Int64) async throws -> String {
        try await work()
        return try await database.lines(
            "SELECT concat_ws(' ', result, reason) FROM appstore.outcomes WHERE event_id = \(eventID)"
        ).first ?? "none"
    }

    /// The labels of an outcome: type, subtype, environment, bundle, transaction and contract; `-` for a missing one.
    func labels(of eventID: Int64) async throws -> String {
        try await database.lines(
            """
            SELECT array_to_string(
                ARRAY[notification_type, subtype, environment, bundle_id, transaction_id, original_transaction_id], ' ', '-')
            FROM appstore.outcomes WHERE event_id = \(eventID)
            """
        ).first ?? "none"
    }

    /// The number of rows in each table.
    func count(of tables: String...) async throws -> [Int64] {
        try await database.withConnection { connection in
            var counts: [Int64] = []
            for table in tables {
                let rows = try await connection.query("SELECT count(*) AS n FROM appstore.\(identifier: table)")
                counts.append(try rows[0].decode("n"))
            }
            return counts
        }
    }
}
