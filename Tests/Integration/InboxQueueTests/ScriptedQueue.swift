import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

/// Makes queues that do with an event what its body says, and remembers which events were prepared and merged together.
final class ScriptedQueue: Sendable {
    /// What the first byte of a body has happen to it.
    enum Instruction: UInt8 {
        case apply = 1
        case slowMerge = 3
        case killConnection = 4
        /// Needs a row that another session may have locked.
        case touchRow = 5
        /// Takes 0.2 s.
        case slowApply = 6
    }

    /// Events in the order of their preparation.
    let prepared = Mutex<[Int64]>([])
    /// Events that were merged together.
    let batches = Mutex<[[Int64]]>([])

    /// A queue with short timeouts that judges at once.
    func queue(_ pool: ConnectionPool, _ change: (inout QueueConfiguration) -> Void = { _ in }) -> EventQueue<ClaimedEvent> {
        var configuration = QueueConfiguration()
        configuration.batchTimeout = .milliseconds(500)
        configuration.singleTimeout = .milliseconds(250)
        configuration.isolatedTimeout = .milliseconds(400)
        configuration.grace = .zero
        configuration.isolatedGrace = .zero
        change(&configuration)
        return EventQueue(pool: pool, configuration: configuration, logger: .silent, prepare: prepare, merge: merge)
    }

    private func prepare(_ event: ClaimedEvent) async -> ClaimedEvent {
        prepared.withLock { $0.append(event.eventID) }
        return event
    }

    private func merge(_ events: [ClaimedEvent], in transaction: Transaction) async throws -> [Settlement] {
        batches.withLock { $0.append(events.map(\.eventID)) }
        for event in events {
            switch event.body.first.flatMap(Instruction.init) {
            case .slowMerge: try await transaction.execute("SELECT pg_sleep(3600)")
            case .killConnection: try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            case .slowApply: try await transaction.execute("SELECT pg_sleep(0.2)")
            case .touchRow: try await transaction.execute("SELECT FROM appstore.touched FOR UPDATE")
            case .apply, nil:
                try await transaction.execute(
                    """
                    INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
                    VALUES ('Production', gen_random_uuid(), \(event.eventID))
                    """
                )
            }
        }
        return events.map { _ in .outcome(Outcome(.applied)) }
    }

    /// Recovers lost batches and takes what is due until the queue is empty.
    func finish(_ queue: EventQueue<ClaimedEvent>, _ database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await database.lines("SELECT count(*)::text FROM appstore.inbox_queue") != ["0"] {
            try #require(ContinuousClock.now < deadline)
            _ = try await queue.recoverLostBatches()
            _ = try await queue.takeBatch()
            while try await queue.takeIsolated() != nil {}
        }
    }

    /// Lends a script and a database whose inbox has an event for each instruction.
    static func with(
        _ instructions: [Instruction],
        _ body: (TestDatabase, ConnectionPool, ScriptedQueue) async throws -> Void
    ) async throws {
        let database = try await InboxDatabase.make()
        let bodies = instructions.map { [$0.rawValue] }
        try await database.withConnection(user: "appstore_ingest") { connection in
            // A call takes at most 64 bodies.
            for start in stride(from: 0, to: bodies.count, by: 64) {
                _ = try await connection.execute("SELECT appstore.receive(\(Array(bodies[start..<min(start + 64, bodies.count)])))")
            }
        }
        let pool = try database.pool(user: "appstore_worker")
        try await body(database, pool, ScriptedQueue())
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }
}

extension TestDatabase {
    /// Runs `body` while another session holds what the statement locks.
    func holding(_ statement: Statement, _ body: () async throws -> Void) async throws {
        try await withConnection { connection in
            try await connection.withTransaction { transaction in
                try await transaction.execute(statement)
                try await body()
            }
        }
    }

    /// Leaves a marker as a process would that died.
    func leaveMarker(_ ids: [Int64], isAlone: Bool, lane: Int64 = .random(in: .min ... .max)) async throws {
        try await withConnection { connection in
            _ = try await connection.execute(
                """
                INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at)
                VALUES (\(lane), \(ids), \(isAlone), clock_timestamp())
                """
            )
        }
    }
}
