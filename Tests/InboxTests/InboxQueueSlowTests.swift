import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Inbox

/// Events whose statements take long: found quickly, while the events beside them go on.
struct InboxQueueSlowTests {
    private func waiting(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws('|', event_id, attempts, deaths, is_isolated) FROM appstore.inbox_queue ORDER BY event_id"
        )
    }

    @Test func `one of a hundred is found after two more waits, and the others settle in the same batch`() async throws {
        var instructions = [Clerk.Instruction](repeating: .apply, count: 100)
        instructions[56] = .slowMerge
        try await Clerk.with(instructions) { database, pool, clerk in
            let queue = clerk.queue(pool) { $0.statementPatience = .seconds(2) }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 99])
            #expect(try await waiting(database) == ["57|0|0|t"])
            let merges = clerk.batches.withLock(\.self)
            // The batch, its parts of ten, and the events of the part that was not merged.
            let sizes = merges.map(\.count)
            #expect(sizes == [100] + Array(repeating: 10, count: 10) + Array(repeating: 1, count: 10))
            let slow = merges.count { $0.contains(57) }
            #expect(slow == 3)
            #expect(queue.memory.statementBound(for: 1) == queue.configuration.statementPatience, "the bound was right")
        }
    }

    @Test func `one that takes long to fail is not tried again and again beside the others`() async throws {
        var instructions = [Clerk.Instruction](repeating: .apply, count: 100)
        instructions[56] = .slowFailure
        try await Clerk.with(instructions) { database, pool, clerk in
            let queue = clerk.queue(pool) { $0.statementPatience = .seconds(2) }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 99])
            #expect(try await waiting(database) == ["57|0|0|t"])
            // The batch, its part, and itself, the last two for a quarter of the bound.
            let slow = clerk.batches.withLock { $0.count { $0.contains(57) } }
            #expect(slow == 3)
            _ = try await queue.lookForLostBatches()
            #expect(try await queue.takeBatch().retries == 1)
            #expect(try await waiting(database) == ["57|1|0|t"], "alone it has the time to fail by itself")
        }
    }

    @Test func `whoever waits for the database is not taken for one that computes`() async throws {
        try await Clerk.with([.apply, .apply]) { _, pool, _ in
            var configuration = QueueConfiguration()
            configuration.statementPatience = .seconds(20)
            let queue = InboxQueue<Int64>(pool: pool, configuration: configuration, logger: .silent, prepare: { $0.eventID }) {
                ids,
                transaction in
                // Longer than it might compute, after which this process would end.
                try await transaction.execute("SELECT pg_sleep(4)")
                return ids.map { _ in .outcome(Outcome(.applied)) }
            }
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 2])
        }
    }

    @Test func `where many wait in vain nobody is suspect, and batches are smaller until it can be told who is`() async throws {
        try await Clerk.with(Array(repeating: .slowMerge, count: 25)) { database, pool, clerk in
            let queue = clerk.queue(pool) { $0.statementPatience = .milliseconds(50) }
            #expect(try await queue.takeBatch().retries == 25)
            #expect(try await waiting(database) == (1...25).map { "\($0)|0|0|f" })
            var limits = [queue.memory.batchLimit]
            while limits.last != 3 {
                try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
                _ = try await queue.takeBatch()
                limits.append(queue.memory.batchLimit)
                try #require(limits.count < 5)
            }
            #expect(limits == [12, 6, 3])
            #expect(queue.memory.statementBound(for: 1) == .milliseconds(400), "and each time it may have been the bound")
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
            #expect(try await queue.takeBatch().retries == 3)
            let suspects = try await waiting(database).count { $0.hasSuffix("|0|0|t") }
            #expect(suspects == 3)
        }
    }

    @Test func `a suspect that takes long lets the others go on, and does not answer for them`() async throws {
        try await Clerk.with([.slowMerge, .apply, .apply]) { database, pool, clerk in
            try await database.leaveMarker([1], isAlone: false)
            let queue = clerk.queue(pool) {
                $0.solitude = .seconds(1)
                $0.suspectPatience = .seconds(2)
            }
            #expect(try await queue.lookForLostBatches().suspects == 1)
            async let slow = queue.takeBatch()
            let markers: Statement = "SELECT concat_ws('|', event_ids, is_alone) FROM appstore.batch_markers"
            var seen: [[String]] = []
            let deadline = ContinuousClock.now + .seconds(60)
            try await database.withConnection { observer in
                while seen.last != ["{1}|f"] {
                    try #require(ContinuousClock.now < deadline)
                    let marker = try await observer.query(markers).map { try $0.decode(0, as: String.self) }
                    if marker != seen.last, !marker.isEmpty { seen.append(marker) }
                }
            }
            #expect(seen == [["{1}|t"], ["{1}|f"]])
            let others = try await queue.takeBatch()
            #expect(others.results == [.applied: 2])
            #expect(try await database.lines(markers) == ["{1}|f"], "it still runs")
            let report = try await slow
            #expect(report.retries == 1)
            #expect(try await waiting(database) == ["1|1|0|t"])
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a suspect whose process died while it ran beside others is alone to the end the next time`()
        async throws
    {
        try await Clerk.with([.slowMerge, .apply]) { database, pool, clerk in
            let queue = clerk.queue(pool) { $0.solitude = .zero }
            // It is a suspect already when the second one is judged.
            for _ in 0..<2 {
                try await database.leaveMarker([1], isAlone: false)
                #expect(try await queue.lookForLostBatches().suspects == 1)
            }
            #expect(try await waiting(database) == ["1|0|0|t", "2|0|0|f"])
            let later = try await database.lines("SELECT event_id::text FROM appstore.inbox_queue WHERE run_at > clock_timestamp()")
            #expect(later == ["1"], "others come first")
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
            let ended = Mutex<[[Int64]]>([])
            async let slow: Void = {
                _ = try await queue.takeBatch()
                ended.withLock { $0.append([1]) }
            }()
            let merging: Statement = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
            try await database.withConnection { observer in
                while try await observer.query(merging).isEmpty { try Task.checkCancellation() }
            }
            // No batch is let in, although the time alone was over before it began.
            _ = try await queue.takeBatch()
            ended.withLock { $0.append([2]) }
            try await slow
            #expect(ended.withLock(\.self) == [[1], [2]])
            #expect(try await waiting(database) == ["1|1|0|t"])
        }
    }
}
