import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

/// Crash markers, and what becomes of the events of batches that ended without a commit.
struct RecoveryTests {
    private static let markers: Statement = "SELECT concat_ws('|', event_ids, is_alone) FROM appstore.batch_markers"

    @Test(arguments: [true, false])
    func `a batch has a marker before its events are merged, where markers are needed, and none after its commit`(needed: Bool) async throws
    {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, _ in
            let seen = Mutex<[String]>([])
            var configuration = QueueConfiguration()
            if !needed { configuration.markersAfterStart = .zero }
            let queue = EventQueue<ClaimedEvent>(
                pool: pool,
                configuration: configuration,
                logger: .silent,
                prepare: { event in
                    do {
                        let lines = try await database.lines(Self.markers)
                        seen.withLock { $0 = lines }
                    } catch {
                        Issue.record(error)
                    }
                    return event
                },
                merge: { events, _ in events.map { _ in .outcome(Outcome(.applied)) } }
            )
            _ = try await queue.takeBatch()
            #expect(seen.withLock(\.self) == (needed ? ["{1,2}|f"] : []))
            #expect(queue.side.counts.opened == (needed ? 1 : 0))
            #expect(try await database.lines(Self.markers) == [])
        }
    }

    @Test func `a process that found a lost batch marks its own from then on`() async throws {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, script in
            let queue = script.queue(pool) { $0.markersAfterStart = .zero }
            #expect(!queue.markers.areNeeded)
            try await database.leaveMarker([1], isAlone: false)
            _ = try await queue.recoverLostBatches()
            #expect(queue.markers.areNeeded)
        }
    }

    @Test func `the events of a killed batch run one by one and lose no attempt; the others run as before`() async throws {
        try await ScriptedQueue.with([.apply, .apply, .apply, .apply, .apply]) { database, pool, script in
            try await database.leaveMarker([2, 4], isAlone: false)
            let queue = script.queue(pool)
            let report = try await queue.recoverLostBatches()
            #expect((report.lost, report.isolated, report.deaths) == (1, 2, 0))
            try await script.finish(queue, database)
            #expect(script.batches.withLock { Set($0) } == [[2], [4], [1, 3, 5]])
            #expect(try await database.lines("SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes") == ["applied|1"])
        }
    }

    @Test(arguments: [true, false])
    func `a batch that ended when PostgreSQL was restarted isolates no event and counts no death`(isAlone: Bool) async throws {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, script in
            try await database.leaveMarker([1], isAlone: isAlone)
            try await database.withConnection { connection in
                _ = try await connection.execute(
                    "UPDATE appstore.batch_markers SET server_start = server_start - interval '1 second'"
                )
            }
            let queue = script.queue(pool)
            let report = try await queue.recoverLostBatches()
            #expect((report.isolated, report.deaths) == (0, 0))
            #expect(try await database.lines(Self.markers) == [])
            #expect(try await queue.takeBatch().results == [.applied: 2])
        }
    }

    @Test func `an isolated event whose process died waits for its judgement, then it counts, and three deaths are the last`() async throws
    {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, script in
            let (lenient, strict) = (script.queue(pool) { $0.isolatedGrace = .seconds(3600) }, script.queue(pool))
            try await database.leaveMarker([1], isAlone: false)
            _ = try await strict.recoverLostBatches()
            for death in 1...3 {
                // Two workers may have reserved it at the same time: it still died once.
                for _ in 0..<2 { try await database.leaveMarker([1], isAlone: true) }
                #expect(try await lenient.recoverLostBatches().deaths == 0)
                #expect(try await lenient.takeIsolated() == nil, "no worker runs it before it is judged")
                let report = try await strict.recoverLostBatches()
                #expect((report.deaths, report.failed.count) == (1, death == 3 ? 1 : 0))
                #expect(try await database.lines(Self.markers) == [])
                try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run_at = clock_timestamp()") }
            }
            let failed = try await database.lines(
                "SELECT concat_ws('|', event_id, reason, attempts, last_error LIKE 'killed_worker%') FROM appstore.failed"
            )
            #expect(failed == ["1|killed_worker|3|t"])
            #expect(try await strict.takeBatch().results == [.applied: 1], "its neighbour was never held up")
        }
    }

    @Test func `a worker that lives has time to report its lost batch, but not to a worker that starts`() async throws {
        try await ScriptedQueue.with([.apply, .apply]) { database, pool, script in
            try await database.leaveMarker([1], isAlone: false)
            let queue = script.queue(pool) {
                $0.grace = .seconds(3600)
                $0.batchEvents = 1
            }
            for _ in 0..<2 {
                let report = try await queue.recoverLostBatches()
                #expect((report.lost, report.isolated) == (0, 0))
            }
            #expect(try await database.lines("SELECT (lost_at IS NOT NULL)::text FROM appstore.batch_markers") == ["true"])
            #expect(try await queue.takeBatch().results == [.applied: 1], "the event does not wait meanwhile")
            try await database.leaveMarker([2], isAlone: false)
            #expect(try await queue.recoverLostBatches(isFirst: true).isolated == 1)
            #expect(try await database.lines(Self.markers) == [])
        }
    }

    @Test(arguments: [true, false])
    func `a worker that lost its connection, and not its life, removes its marker`(isIsolated: Bool) async throws {
        try await ScriptedQueue.with([.killConnection]) { database, pool, script in
            let queue = script.queue(pool)
            if isIsolated { try await database.leaveMarker([1], isAlone: false) }
            _ = try await queue.recoverLostBatches()
            for _ in 0..<3 {
                await #expect(throws: PostgresError.self) {
                    if isIsolated { _ = try await queue.takeIsolated() } else { _ = try await queue.takeBatch() }
                }
                // The server's process holds the event until it has noticed.
                _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
                let report = try await queue.recoverLostBatches()
                #expect((report.isolated, report.deaths) == (0, 0))
            }
            let waiting = try await database.lines("SELECT concat_ws('|', attempts, deaths, is_isolated) FROM appstore.inbox_queue")
            #expect(waiting == [isIsolated ? "0|0|t" : "0|0|f"])
            #expect(script.batches.withLock { $0 } == [[1], [1], [1]])
        }
    }

    @Test func `an isolated event that fails leaves no marker, by which other workers would take it for lost`() async throws {
        try await ScriptedQueue.with([.slowMerge]) { database, pool, script in
            try await database.leaveMarker([1], isAlone: false)
            let queue = script.queue(pool)
            _ = try await queue.recoverLostBatches()
            #expect(try await queue.takeIsolated()?.retries == 1)
            #expect(try await database.lines(Self.markers) == [])
            #expect(try await database.lines("SELECT attempts::text FROM appstore.inbox_queue") == ["1"])
        }
    }

    @Test func `a marker that is cancelled is no reason to go on without markers`() async throws {
        try await ScriptedQueue.with([.apply]) { _, pool, script in
            let queue = script.queue(pool)
            let marking = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                await queue.markers.mark([1], lane: 1)
            }
            await marking.value
            #expect(queue.markers.areNeeded)
        }
    }

    @Test func `an event held by another transaction is judged later`() async throws {
        try await ScriptedQueue.with([.apply]) { database, pool, script in
            let queue = script.queue(pool)
            try await database.leaveMarker([1], isAlone: true)
            try await database.withConnection { holder in
                try await holder.withTransaction { transaction in
                    try await transaction.execute("SELECT FROM appstore.inbox_queue FOR UPDATE")
                    #expect(try await queue.recoverLostBatches().deaths == 0)
                }
            }
            #expect(try await queue.recoverLostBatches().deaths == 1)
        }
    }

    @Test func `without a side connection batches go on without markers`() async throws {
        let database = try await InboxDatabase.make()
        let role = "narrow_" + database.name.suffix(8)
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1 IN ROLE appstore_worker;
                SELECT appstore.receive(ARRAY['\\x01', '\\x01', '\\x01']::bytea[]);
                UPDATE appstore.inbox_queue SET is_isolated = true WHERE event_id = 2;
                """
            )
        }
        let pool = try database.pool(user: role, connections: 1)
        let script = ScriptedQueue()
        let queue = script.queue(pool) { $0.batchEvents = 1 }
        #expect(try await queue.takeBatch().results == [.applied: 1])
        #expect(try await queue.takeBatch().results == [.applied: 1])
        #expect(queue.side.counts.failed == 1, "no other batch waits for it until the next recovery")
        #expect(try await queue.takeIsolated()?.results == [.applied: 1], "its marker needs no second connection")
        #expect(script.batches.withLock { $0 } == [[1], [3], [2]])
        await pool.close()
    }
}
