import InboxTesting
import Postgres
import PostgresTesting
import Testing

@testable import InboxQueue

/// Batches of one process that hold events about the same thing.
struct InboxQueueContestTests {
    private typealias Event = (eventID: Int64, names: [String])

    @Test func `an event whose contract another batch has is released, until that batch ends`() {
        let inFlight = InFlightBatches()
        let first: [Event] = [(1, ["a"]), (2, ["b", "c"]), (3, []), (4, ["a"])]
        #expect(inFlight.enter(1, with: first) == [])
        #expect(inFlight.enter(2, with: [(5, ["c"]), (6, ["d"]), (7, ["e"]), (8, [])]) == [5])
        // A released event locks nothing; a kept one does.
        #expect(inFlight.enter(3, with: [(9, ["d"]), (10, ["f"]), (11, ["g"]), (12, ["h"])]) == [9])
        inFlight.leave(1)
        #expect(inFlight.enter(4, with: [(13, ["a"]), (14, ["b"]), (15, ["c"]), (16, [])]) == [])
    }

    @Test func `a batch keeps its events when most of them would be released`() {
        let inFlight = InFlightBatches()
        #expect(inFlight.enter(1, with: [(1, ["a"]), (2, ["b"])]) == [])
        #expect(inFlight.enter(2, with: [(3, ["a"]), (4, ["b"]), (5, ["d"])]) == [])
        #expect(inFlight.enter(3, with: [(6, ["a"]), (7, ["b"]), (8, ["x"]), (9, ["y"])]) == [6, 7])
    }

    @Test func `an event is released a few times, then its batch waits for the contract`() {
        let inFlight = InFlightBatches()
        #expect(inFlight.enter(1, with: [(1, ["a"])]) == [])
        var releases = 0
        while releases < 1000, inFlight.enter(2, with: [(9, ["a"]), (2, [])]) == [9] { releases += 1 }
        #expect((1..<1000).contains(releases))
        inFlight.leave(2)
        // Once it was kept, it counts anew: it was merged, as far as this process knows.
        #expect(inFlight.enter(4, with: [(9, ["a"]), (2, [])]) == [9])
    }

    /// Sixteen events in batches of eight; the first one is about the same as the ninth, and its merge takes until it is told to end.
    @Test func `a batch does not wait for another one's contract, and its event is settled later, with no attempt lost`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\((1...16).map { [UInt8($0)] }))")
        }
        let pool = try database.pool(user: "appstore_worker", connections: 4)
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        var configuration = QueueConfiguration()
        configuration.batchEvents = 8
        // The test keeps the merge waiting.
        configuration.computeTimeout = .seconds(60)
        let queue = EventQueue<Int64>(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: { $0.eventID },
            subjects: { [$0 % 8 == 1 ? "shared" : "\($0)"] },
            merge: { ids, transaction in
                // As the register of a contract is locked.
                if ids.contains(where: { $0 % 8 == 1 }) { try await transaction.execute("SELECT pg_advisory_xact_lock(8)") }
                if ids.contains(1) {
                    begin.yield()
                    for await _ in ended {}
                }
                return ids.map { _ in .outcome(Outcome(.applied)) }
            }
        )
        async let first = queue.takeBatch()
        for await _ in began { break }
        let second = try await queue.takeBatch()
        #expect(second.results == [.applied: 7])
        #expect(second.isFull, "more may be due")
        #expect(
            try await database.lines("SELECT concat_ws('|', event_id, attempts, is_isolated) FROM appstore.inbox_queue WHERE event_id > 8")
                == ["9|0|f"]
        )
        end.finish()
        #expect(try await first.results == [.applied: 8])
        #expect(try await queue.takeBatch().results == [.applied: 1])
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }
}
