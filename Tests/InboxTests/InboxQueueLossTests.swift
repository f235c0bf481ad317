import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Inbox

/// Batches that were lost or given up, and what becomes of their events.
struct InboxQueueLossTests {
    private func with(
        _ instructions: [Clerk.Instruction],
        _ body: (TestDatabase, ConnectionPool, Clerk) async throws -> Void
    ) async throws {
        try await Clerk.with(instructions, body)
    }

    @Test func `an event whose preparation takes too long is alone from then on and fails; its batch settles without it`() async throws {
        try await with([.apply, .apply, .slowPreparation, .apply]) { database, pool, clerk in
            let queue = clerk.queue(pool)
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 3])
            #expect(report.givenUp == 1)
            #expect(
                try await database.lines("SELECT concat_ws('|', event_id, attempts, deaths, is_isolated) FROM appstore.inbox_queue")
                    == ["3|0|0|t"]
            )
            try await clerk.finish(queue, database)
            let outcomes = try await database.lines(
                "SELECT concat_ws('|', event_id, result, reason, attempts) FROM appstore.outcomes ORDER BY event_id"
            )
            #expect(outcomes == ["1|applied|1", "2|applied|1", "3|failed|timed_out|3", "4|applied|1"])
            #expect(clerk.prepared.withLock { $0.sorted() } == [1, 2, 3, 3, 3, 3, 4])
            #expect(clerk.batches.withLock { $0 } == [[1, 2, 4]])
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers") == ["0"])
        }
    }

    @Test func `events that nobody came to, because others took too long, wait as before and are not suspect`() async throws {
        let slow = Array(repeating: Clerk.Instruction.slowPreparation, count: Workbench<ClaimedEvent>.places)
        try await with(slow + [.apply, .apply]) { database, pool, clerk in
            let queue = clerk.queue(pool)
            let report = try await queue.takeBatch()
            #expect((report.events, report.givenUp) == (slow.count, slow.count))
            let waiting = try await database.lines(
                "SELECT concat_ws('|', is_isolated, attempts, count(*)) FROM appstore.inbox_queue GROUP BY is_isolated, attempts ORDER BY is_isolated"
            )
            #expect(waiting == ["f|0|2", "t|0|\(slow.count)"])
            queue.memory.suspectsAreDue = false
            #expect(try await queue.takeBatch().results == [.applied: 2])
        }
    }

    @Test func `a marker is there before anything is done with the events, and gone with the commit`() async throws {
        try await with([.apply, .apply]) { database, pool, _ in
            let seen = Mutex<[String]>([])
            let queue = InboxQueue<ClaimedEvent>(
                pool: pool,
                configuration: QueueConfiguration(),
                logger: .silent,
                prepare: { event in
                    do {
                        let lines = try await database.lines("SELECT concat_ws('|', event_ids, is_alone) FROM appstore.batch_markers")
                        seen.withLock { $0 = lines }
                    } catch {
                        Issue.record(error)
                    }
                    return event
                },
                merge: { events, _ in events.map { _ in .outcome(Outcome(.applied)) } }
            )
            _ = try await queue.takeBatch()
            #expect(seen.withLock(\.self) == ["{1,2}|f"])
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers") == ["0"])
        }
    }

    @Test func `the events of a killed batch run one by one and lose no attempt; those beside them run as before`() async throws {
        try await with([.apply, .apply, .apply, .apply, .apply]) { database, pool, clerk in
            try await database.leaveMarker([2, 4], isAlone: false)
            let queue = clerk.queue(pool)
            let report = try await queue.lookForLostBatches()
            #expect((report.lost, report.suspects, report.deaths) == (1, 2, 0))
            try await clerk.finish(queue, database)
            #expect(clerk.batches.withLock { Set($0) } == [[2], [4], [1, 3, 5]])
            #expect(try await database.lines("SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes") == ["applied|1"])
        }
    }

    @Test func `the events of a batch that ended when PostgreSQL was restarted are no suspects`() async throws {
        try await with([.apply, .apply, .apply]) { database, pool, clerk in
            try await database.leaveMarker([1, 2], isAlone: false)
            try await database.withConnection { connection in
                _ = try await connection.execute(
                    "UPDATE appstore.batch_markers SET server_start = server_start - interval '1 second'"
                )
            }
            let queue = clerk.queue(pool)
            #expect(try await queue.lookForLostBatches().suspects == 0)
            #expect(try await database.lines("SELECT lane::text FROM appstore.batch_markers") == [])
            #expect(try await queue.takeBatch().results == [.applied: 3])
        }
    }

    @Test func `a suspect whose process died has time to be spoken for, then it counts, and three deaths are the last`() async throws {
        try await with([.apply, .apply]) { database, pool, clerk in
            let (patient, strict) = (clerk.queue(pool) { $0.grace = .seconds(3600) }, clerk.queue(pool))
            try await database.leaveMarker([1], isAlone: false)
            _ = try await strict.lookForLostBatches()
            for death in 1...3 {
                try await database.leaveMarker([1], isAlone: true)
                #expect(try await patient.lookForLostBatches().deaths == 0)
                let waits = try await database.lines(
                    "SELECT (run_at > now() + interval '50 minutes')::text FROM appstore.inbox_queue WHERE event_id = 1"
                )
                #expect(waits == ["true"], "nobody runs it before it is judged")
                #expect(try await patient.lookForLostBatches().deaths == 0)
                let report = try await strict.lookForLostBatches()
                #expect((report.deaths, report.failed) == (1, death == 3 ? 1 : 0))
            }
            let failed = try await database.lines(
                "SELECT concat_ws('|', event_id, reason, attempts, last_error IS NOT NULL) FROM appstore.failed"
            )
            #expect(failed == ["1|killed_worker|3|t"])
            #expect(try await strict.takeBatch().results == [.applied: 1], "its neighbour was never held up")
        }
    }

    @Test func `a suspect that lost its connection, and not its process, is spoken for`() async throws {
        try await with([.killConnection]) { database, pool, clerk in
            try await database.leaveMarker([1], isAlone: false)
            let queue = clerk.queue(pool)
            for _ in 0..<3 {
                _ = try await queue.lookForLostBatches()
                await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
                // Its server process holds the event until it has said farewell.
                _ = try await database.lines("SELECT 'held' FROM appstore.inbox_queue FOR UPDATE")
            }
            #expect(try await queue.lookForLostBatches().deaths == 0)
            let waiting = try await database.lines("SELECT concat_ws('|', attempts, deaths, is_isolated) FROM appstore.inbox_queue")
            #expect(waiting == ["0|0|t"])
            #expect(clerk.batches.withLock { $0 } == [[1], [1], [1]])
        }
    }

    @Test func `without a place for the side connection batches go on, also while a suspect is due, which does not run`() async throws {
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
        let clerk = Clerk()
        let queue = clerk.queue(pool) { $0.batchEvents = 1 }
        queue.memory.suspectsAreDue = true
        #expect(try await queue.takeBatch().results == [.applied: 1])
        #expect(try await queue.takeBatch().results == [.applied: 1])
        queue.memory.suspectsAreDue = true
        #expect(try await queue.takeBatch().events == 0)
        #expect(clerk.batches.withLock { $0 } == [[1], [3]])
        #expect(queue.side.counts.failed == 1, "once it is away, nobody waits for it but the look for lost batches")
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["2"])
        await pool.close()
    }
}
