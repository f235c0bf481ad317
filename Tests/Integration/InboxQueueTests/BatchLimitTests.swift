import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

struct BatchLimitTests {
    @Test func `batches shrink by half with each loss, down to one event, and grow by a quarter with each full one`() {
        var limit = BatchLimit(maximum: 200)
        var sizes: [Int] = []
        for _ in 0..<9 {
            sizes.append(limit.events)
            limit.lost(limit.events)
        }
        #expect(sizes == [200, 100, 50, 25, 12, 6, 3, 1, 1])
        limit.committed(0)
        #expect(limit.events == 1)
        for size in [2, 3, 4, 5, 6] {
            limit.committed(limit.events)
            #expect(limit.events == size)
        }
        for _ in 0..<19 { limit.committed(limit.events) }
        #expect(limit.events == 200)
    }

    @Test func `one fault that ends several batches at once counts once, and a batch that was not full says nothing`() {
        var limit = BatchLimit(maximum: 200)
        for _ in 0..<3 { limit.lost(200) }
        #expect(limit.events == 100)
        limit.committed(99)
        #expect(limit.events == 100)
        // Taken before the others were lost.
        limit.committed(200)
        #expect(limit.events == 125)
    }

    @Test func `where no large batch comes to its commit, smaller ones do`() async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        var configuration = QueueConfiguration()
        configuration.batchEvents = 16
        let sizes = Mutex<[Int]>([])
        let queue = EventQueue<ClaimedEvent>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0 }) {
            events,
            transaction in
            sizes.withLock { $0.append(events.count) }
            if events.count > 3 { try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())") }
            return events.map { _ in .outcome(Outcome(.applied)) }
        }
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\([[UInt8]](repeating: [1], count: 20)))")
        }
        var (settled, reports) = (0, [BatchReport]())
        for _ in 0..<30 where settled < 20 {
            do {
                reports.append(try await queue.takeBatch())
                settled = reports.map(\.events).reduce(0, +)
            } catch let error as PostgresError {
                #expect(error.isConnectionLoss, "\(error)")
                // Its server process holds the events until it has noticed.
                _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
            }
        }
        #expect(sizes.withLock(\.self) == [16, 8, 4, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3])
        #expect(!reports.contains { !$0.isFull })
        let wrong = try await database.eventsNotExactlyOnce()
        #expect(wrong == [])
        await pool.close()
    }
}
