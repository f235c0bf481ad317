import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import Inbox

/// Batches that were lost or given up, and what becomes of their events.
struct InboxQueueLossTests {
    /// What the first byte of a body has happen to it.
    private enum Instruction: UInt8 {
        case apply = 1
        case slowPreparation = 2
        case slowMerge = 3
        case killConnection = 4
    }

    /// A queue that remembers who was in its batches.
    private final class Clerk: Sendable {
        let batches = Mutex<[[Int64]]>([])

        func queue(_ pool: ConnectionPool, grace: Duration = .zero) -> InboxQueue<ClaimedEvent> {
            var configuration = QueueConfiguration()
            configuration.patience = .milliseconds(300)
            configuration.maximumPatience = .milliseconds(600)
            configuration.suspectPatience = .milliseconds(600)
            configuration.grace = grace
            configuration.deaths.baseDelay = .zero
            configuration.deaths.maximumDelay = .zero
            return InboxQueue(
                pool: pool,
                configuration: configuration,
                logger: .silent,
                prepare: { events in
                    self.batches.withLock { $0.append(events.map(\.eventID)) }
                    if events.contains(where: { $0.body.first == Instruction.slowPreparation.rawValue }) {
                        do { try await Task.sleep(for: .seconds(3600)) } catch {}
                    }
                    return events
                },
                merge: { events, transaction in
                    for event in events {
                        switch event.body.first.flatMap(Instruction.init) {
                        case .slowMerge: try await transaction.execute("SELECT pg_sleep(3600)")
                        case .killConnection: try await transaction.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                        default: break
                        }
                    }
                    return events.map { _ in .outcome(Outcome(.applied)) }
                }
            )
        }
    }

    private func with(
        _ instructions: [Instruction],
        user: String = "appstore_worker",
        _ body: (TestDatabase, ConnectionPool, Clerk) async throws -> Void
    ) async throws {
        let database = try await InboxDatabase.make()
        let bodies = instructions.map { [$0.rawValue] }
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\(bodies))")
        }
        let pool = try database.pool(user: user)
        try await body(database, pool, Clerk())
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    /// Leaves a marker as a process would that died.
    private func leaveMarker(_ ids: [Int64], isAlone: Bool, in database: TestDatabase) async throws {
        try await database.withConnection { connection in
            _ = try await connection.execute(
                """
                INSERT INTO appstore.inbox_in_flight (lane, event_ids, is_alone, marked_at)
                VALUES (\(Int64.random(in: .min ... .max)), \(ids), \(isAlone), clock_timestamp())
                """
            )
        }
    }

    /// Works until nothing waits.
    private func finish(_ queue: InboxQueue<ClaimedEvent>, _ database: TestDatabase) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await database.lines("SELECT count(*)::text FROM appstore.inbox_ready") != ["0"] {
            try #require(ContinuousClock.now < deadline)
            _ = try await queue.lookForLostBatches()
            _ = try await queue.takeBatch()
        }
    }

    @Test(arguments: [Instruction.slowPreparation, .slowMerge])
    private func `an event that takes too long is alone in the end and fails, the others settle`(_ slow: Instruction) async throws {
        try await with([.apply, .apply, slow, .apply]) { database, pool, clerk in
            try await finish(clerk.queue(pool), database)
            let outcomes = try await database.lines(
                "SELECT concat_ws('|', event_id, result, reason, attempts) FROM appstore.outcomes ORDER BY event_id"
            )
            #expect(outcomes == ["1|applied|1", "2|applied|1", "3|failed|timed_out|3", "4|applied|1"])
            let slow = clerk.batches.withLock { $0.filter { $0.contains(3) } }
            #expect(slow == [[1, 2, 3, 4], [3], [3], [3]])
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_in_flight") == ["0"])
        }
    }

    @Test func `a marker is there before anything is done with the events, and gone with the commit`() async throws {
        try await with([.apply, .apply]) { database, pool, _ in
            let seen = Mutex<[String]>([])
            let queue = InboxQueue<ClaimedEvent>(
                pool: pool,
                configuration: QueueConfiguration(),
                logger: .silent,
                prepare: { events in
                    do {
                        let lines = try await database.lines("SELECT concat_ws('|', event_ids, is_alone) FROM appstore.inbox_in_flight")
                        seen.withLock { $0 = lines }
                    } catch {
                        Issue.record(error)
                    }
                    return events
                },
                merge: { events, _ in events.map { _ in .outcome(Outcome(.applied)) } }
            )
            _ = try await queue.takeBatch()
            #expect(seen.withLock(\.self) == ["{1,2}|f"])
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.inbox_in_flight") == ["0"])
        }
    }

    @Test func `the events of a killed batch run one by one and lose no attempt; those beside them run as before`() async throws {
        try await with([.apply, .apply, .apply, .apply, .apply]) { database, pool, clerk in
            try await leaveMarker([2, 4], isAlone: false, in: database)
            let queue = clerk.queue(pool)
            let report = try await queue.lookForLostBatches()
            #expect((report.lost, report.suspects, report.deaths) == (1, 2, 0))
            try await finish(queue, database)
            #expect(clerk.batches.withLock { Set($0) } == [[2], [4], [1, 3, 5]])
            #expect(try await database.lines("SELECT DISTINCT concat_ws('|', result, attempts) FROM appstore.outcomes") == ["applied|1"])
        }
    }

    @Test func `a suspect whose process died has time to be spoken for, then it counts, and three deaths are the last`() async throws {
        try await with([.apply, .apply]) { database, pool, clerk in
            let (patient, strict) = (clerk.queue(pool, grace: .seconds(3600)), clerk.queue(pool))
            try await leaveMarker([1], isAlone: false, in: database)
            _ = try await strict.lookForLostBatches()
            for death in 1...3 {
                try await leaveMarker([1], isAlone: true, in: database)
                #expect(try await patient.lookForLostBatches().deaths == 0)
                let waits = try await database.lines(
                    "SELECT (run_at > now() + interval '50 minutes')::text FROM appstore.inbox_ready WHERE event_id = 1"
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
            try await leaveMarker([1], isAlone: false, in: database)
            let queue = clerk.queue(pool)
            for _ in 0..<4 {
                _ = try await queue.lookForLostBatches()
                await #expect(throws: PostgresError.self) { try await queue.takeBatch() }
                // Its server process holds the event until it has said farewell.
                _ = try await database.lines("SELECT 'held' FROM appstore.inbox_ready FOR UPDATE")
            }
            #expect(try await queue.lookForLostBatches().deaths == 0)
            let waiting = try await database.lines("SELECT concat_ws('|', attempts, deaths, is_suspect) FROM appstore.inbox_ready")
            #expect(waiting == ["0|0|t"])
            #expect(clerk.batches.withLock { $0 } == [[1], [1], [1], [1]])
        }
    }

    @Test func `without a place for the side connection batches go on, but no suspect runs`() async throws {
        let database = try await InboxDatabase.make()
        let role = "narrow_" + database.name.suffix(8)
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1 IN ROLE appstore_worker;
                SELECT appstore.receive(ARRAY['\\x01', '\\x01', '\\x01']::bytea[]);
                UPDATE appstore.inbox_ready SET is_suspect = true WHERE event_id = 2;
                """
            )
        }
        let pool = try database.pool(user: role, connections: 1)
        let clerk = Clerk()
        let queue = clerk.queue(pool)
        #expect(try await queue.takeBatch().results == [.applied: 2])
        queue.memory.suspectsAreDue = true
        await #expect { try await queue.takeBatch() } throws: { ($0 as? PostgresError)?.code == .connectionFailed }
        #expect(clerk.batches.withLock { $0 } == [[1, 3]])
        #expect(try await database.lines("SELECT event_id::text FROM appstore.inbox_ready") == ["2"])
        await pool.close()
    }
}
