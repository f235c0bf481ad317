import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

struct BatchLimitTests {
    @Test func `batches shrink by half with each loss, down to one event, and grow by a quarter with each full one`() {
        var losses = BatchLosses(maximum: 200)
        var sizes: [Int] = []
        for _ in 0..<9 {
            sizes.append(losses.limit)
            losses.lost(batchOf: losses.limit)
        }
        #expect(sizes == [200, 100, 50, 25, 12, 6, 3, 1, 1])
        losses.committed(batchOf: 0, [])
        #expect(losses.limit == 1)
        for size in [2, 3, 4, 5, 6] {
            losses.committed(batchOf: losses.limit, [])
            #expect(losses.limit == size)
        }
        for _ in 0..<19 { losses.committed(batchOf: losses.limit, []) }
        #expect(losses.limit == 200)
    }

    @Test func `one fault that ends several batches at once counts once, and a batch that was not full says nothing`() {
        var losses = BatchLosses(maximum: 200)
        for _ in 0..<3 { losses.lost(batchOf: 200) }
        #expect(losses.limit == 100)
        losses.committed(batchOf: 99, [])
        #expect(losses.limit == 100)
        // Taken before the others were lost.
        losses.committed(batchOf: 200, [])
        #expect(losses.limit == 125)
        // An isolated event is no batch.
        losses.lost(batchOf: 0)
        #expect(losses.limit == 125)
    }

    @Test func `batches grow again though each releases events that another one is merging`() async throws {
        try await ScriptedQueue.with(Array(repeating: .apply, count: 12)) { database, pool, _ in
            let (began, begin) = AsyncStream.makeStream(of: Void.self)
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            var configuration = QueueConfiguration()
            configuration.batchEvents = 8
            configuration.computeTimeout = .seconds(60)
            let queue = EventQueue<Int64>(
                pool: pool,
                configuration: configuration,
                logger: .silent,
                prepare: { $0.eventID },
                subjects: { $0 % 4 == 1 ? ["shared"] : [] },
                merge: { ids, _ in
                    if ids.contains(1) {
                        begin.yield()
                        for await _ in ended {}
                    }
                    return ids.map { _ in .outcome(Outcome(.applied)) }
                }
            )
            queue.losses.withLock { $0.lost(batchOf: 8) }
            async let first = queue.takeBatch()
            for await _ in began { break }
            #expect(try await queue.takeBatch().results == [.applied: 3], "event 5 is released")
            #expect(queue.losses.withLock(\.limit) == 5, "it was full all the same")
            end.finish()
            #expect(try await first.results == [.applied: 4])
            while try await queue.takeBatch().events > 0 {}
        }
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
