import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

/// An event that ends its connection each time, as one would that is too much for PostgreSQL.
struct LossBackoffTests {
    private func delay(of event: Int64, in losses: inout BatchLosses) -> Duration? {
        losses.delays(of: [event])[event]
    }

    @Test func `two losses may be chance, and after each further one an event waits once, for longer`() throws {
        var losses = BatchLosses(maximum: 200)
        for _ in 0..<2 {
            losses.lost(alone: 7)
            #expect(delay(of: 7, in: &losses) == nil)
        }
        for seconds in [5, 10, 20] {
            losses.lost(alone: 7)
            let delay = try #require(self.delay(of: 7, in: &losses))
            #expect((.seconds(seconds) / 2 ... .seconds(seconds)).contains(delay))
            #expect(self.delay(of: 7, in: &losses) == nil)
        }
        for _ in 0..<100 { losses.lost(alone: 7) }
        #expect(try #require(delay(of: 7, in: &losses)) <= .seconds(600))
        #expect(delay(of: 8, in: &losses) == nil)
    }

    @Test func `what was committed is forgotten, and so is everything when it is too much`() {
        var losses = BatchLosses(maximum: 200)
        for _ in 0..<3 { losses.lost(alone: 7) }
        losses.committed(batchOf: 2, [6, 7])
        #expect(delay(of: 7, in: &losses) == nil)
        for event in 1...2000 as ClosedRange<Int64> {
            for _ in 0..<3 { losses.lost(alone: event) }
        }
        #expect(delay(of: 2000, in: &losses) != nil)
        #expect(delay(of: 1000, in: &losses) == nil)
    }

    @Test func `after ten pauses an event is given up`() {
        var losses = BatchLosses(maximum: 200)
        for _ in 1...12 { losses.lost(alone: 7) }
        losses.committed(batchOf: 0, [6])
        #expect(losses.lastLosses(among: [6, 7]) == [])
        losses.lost(alone: 7)
        #expect(losses.lastLosses(among: [6, 7]) == [], "no other event was committed since then")
        losses.committed(batchOf: 0, [6])
        #expect(losses.lastLosses(among: [6, 7]) == [7])
        losses.committed(batchOf: 0, [7])
        #expect(losses.lastLosses(among: [7]) == [])
    }

    @Test func `an event that always ends its connection becomes failed without running again`() async throws {
        try await ScriptedQueue.with([.killConnection, .apply]) { database, pool, script in
            let queue = script.queue(pool)
            queue.losses.withLock { losses in
                for _ in 1...13 { losses.lost(alone: 1) }
                losses.committed(batchOf: 1, [99])
            }
            #expect(try await queue.takeBatch().results == [.failed: 1, .applied: 1])
            let outcome = try await database.lines(
                "SELECT concat_ws('|', event_id, source <> '', reason, attempts, last_error) FROM appstore.outcomes WHERE result = 'failed'"
            )
            #expect(outcome == ["1|t|lost_connection|1|its connection ended each time that the event ran by itself"])
            #expect(script.batches.withLock { !$0.joined().contains(1) })
        }
    }

    private func takeIsolated(_ queue: EventQueue<ClaimedEvent>, _ database: TestDatabase) async throws -> BatchReport? {
        do {
            return try await queue.takeIsolated()
        } catch is PostgresError {
            _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
            return nil
        }
    }

    private func take(_ queue: EventQueue<ClaimedEvent>, _ database: TestDatabase) async throws -> BatchReport? {
        do {
            return try await queue.takeBatch()
        } catch is PostgresError {
            // The server's process holds the events until it has noticed.
            _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
            return nil
        }
    }

    @Test func `it waits without an attempt and runs by itself, and the others settle meanwhile`() async throws {
        try await ScriptedQueue.with([.killConnection] + Array(repeating: .apply, count: 11)) { database, pool, script in
            let queue = script.queue(pool)
            for _ in 0..<40 where try await database.lines("SELECT count(*)::text FROM appstore.outcomes") != ["11"] {
                _ = try await take(queue, database)
            }
            let outcomes = try await database.lines(
                "SELECT concat_ws('|', result, attempts, count(*)) FROM appstore.outcomes GROUP BY result, attempts"
            )
            #expect(outcomes == ["applied|1|11"])
            let waiting: Statement = """
                SELECT concat_ws('|', event_id, attempts, deaths, is_isolated, last_error LIKE '%connection ended%',
                                 run_at - clock_timestamp() <= '5 s')
                FROM appstore.inbox_queue
                """
            #expect(try await database.lines(waiting) == ["1|0|0|t|t|t"])
            #expect(script.batches.withLock { $0.count { $0 == [1] } } == 3)

            // It is due: it runs once, by itself, and waits for longer.
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
            #expect(try await queue.recoverLostBatches().isolatedAreDue)
            let limit = queue.losses.withLock(\.limit)
            #expect(try await takeIsolated(queue, database) == nil)
            #expect(queue.losses.withLock(\.limit) == limit, "an isolated event says nothing about batches")
            _ = try await queue.recoverLostBatches()
            #expect(try await takeIsolated(queue, database)?.retries == 1)
            #expect(script.batches.withLock { $0.count { $0 == [1] } } == 4)
            let delay = try await database.lines(
                "SELECT (run_at - clock_timestamp() BETWEEN '4 s' AND '10 s')::text FROM appstore.inbox_queue"
            )
            #expect(delay == ["true"])
        }
    }
}
