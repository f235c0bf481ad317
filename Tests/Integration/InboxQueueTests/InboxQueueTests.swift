import InboxQueue
import InboxTesting
import Postgres
import PostgresTesting
import Testing

struct InboxQueueTests {
    /// A queue whose events say in their first byte what is to happen to them.
    enum Instruction: UInt8 {
        case apply = 1
        case reject = 2
        case conflictOnce = 3
    }

    private func makeQueue(_ pool: ConnectionPool, batchEvents: Int = 100, batchBytes: Int = 8 << 20) -> EventQueue<ClaimedEvent> {
        var configuration = EventQueue<ClaimedEvent>.Configuration()
        configuration.batchEvents = batchEvents
        configuration.batchBytes = batchBytes
        let conflicts = Once()
        return EventQueue(pool: pool, configuration: configuration, logger: .silent, prepare: { $0 }) { events, transaction in
            for event in events {
                try await transaction.execute(
                    """
                    INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
                    VALUES ('Production', gen_random_uuid(), \(event.eventID))
                    """
                )
                if event.body.first == Instruction.conflictOnce.rawValue, conflicts.isFirst() {
                    try await transaction.execute("DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$")
                }
            }
            return events.map { event in
                .outcome(event.body.first == Instruction.reject.rawValue ? Outcome(.rejected, reason: "junk") : Outcome(.applied))
            }
        }
    }

    private func receive(_ instructions: [Instruction], in database: TestDatabase, size: Int = 1) async throws {
        let bodies = instructions.map { [$0.rawValue] + [UInt8](repeating: 0, count: size - 1) }
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
    }

    private func withQueue(
        batchEvents: Int = 100,
        batchBytes: Int = 8 << 20,
        _ body: (TestDatabase, EventQueue<ClaimedEvent>) async throws -> Void
    ) async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "postgres")
        try await body(database, makeQueue(pool, batchEvents: batchEvents, batchBytes: batchBytes))
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    @Test func `every event of a batch gets its outcome, and the queue is empty`() async throws {
        try await withQueue { database, queue in
            try await receive([.apply, .reject, .apply], in: database)
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 2, .rejected: 1])
            #expect(try await queue.takeBatch().events == 0)
            let lines = try await database.lines(
                "SELECT concat_ws('|', event_id, state, result, reason, attempts) FROM appstore.inbox_status ORDER BY event_id"
            )
            #expect(lines == ["1|settled|applied|1", "2|settled|rejected|junk|1", "3|settled|applied|1"])
        }
    }

    @Test func `a batch that lost against another is repeated and loses no attempt`() async throws {
        try await withQueue { database, queue in
            try await receive([.apply, .conflictOnce, .apply], in: database)
            #expect(try await queue.takeBatch().results == [.applied: 3])
        }
    }

    @Test func `a batch keeps to its number of events and bytes, and a large body comes alone`() async throws {
        try await withQueue(batchEvents: 4, batchBytes: 1000) { database, queue in
            try await receive([.apply, .apply, .apply], in: database, size: 400)
            try await receive([.apply], in: database, size: 5000)
            try await receive(Array(repeating: .apply, count: 6), in: database)
            var sizes: [Int] = []
            while let events = try await Optional(queue.takeBatch().events), events > 0 { sizes.append(events) }
            #expect(sizes == [2, 1, 1, 4, 2])
        }
    }

    @Test func `several queues at once settle each event once`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "postgres", connections: 6)
        for _ in 0..<10 { try await receive(Array(repeating: .apply, count: 30), in: database) }
        let total = try await withThrowingTaskGroup { group in
            for _ in 0..<6 {
                let queue = makeQueue(pool, batchEvents: 7)
                group.addTask {
                    var events = 0
                    while let taken = try await Optional(queue.takeBatch().events), taken > 0 { events += taken }
                    return events
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(total == 300)
        #expect(try await database.eventsNotExactlyOnce() == [])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.outcomes") == ["300"])
        await pool.close()
    }
}
